// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Definitions in the program take precedence over libraries, so the library under test calls
 * these functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "harness.h"
#include "verbs.h"

#undef ibv_reg_mr

struct registrations registrations;
int dereg_fails, alloc_pd_fails, ack_fails, migrate_fails;
static __thread bool malloc_fails;

void registrations_reset(void)
{
	memset(&registrations, 0, sizeof(registrations));
}

/* Counts the call; true if it is to fail, with errno set. */
static bool reg_call(void *addr, int access)
{
	int n = registrations.calls++;

	if (n >= (int)ARRAY_SIZE(registrations.access))
		return false;
	registrations.access[n] = access;
	registrations.at[n] = addr;
	errno = registrations.fail[n];
	return errno;
}

static int rights(int access)
{
	return registrations.pass_access ?: access;
}

/* The header chooses one of the two, depending on whether access is a constant. */
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  int access)
{
	struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, int) =
		dlsym(RTLD_NEXT, "ibv_reg_mr");

	if (reg_call(addr, access))
		return NULL;
	return real(pd, addr, length, rights(access));
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, uint64_t,
			       unsigned int) =
		dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");

	if (reg_call(addr, access))
		return NULL;
	return real(pd, addr, length, iova, rights(access));
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int (*real)(struct ibv_mr *) = dlsym(RTLD_NEXT, "ibv_dereg_mr");
	int rc = dereg_fails;

	dereg_fails = 0;
	return rc ?: real(mr);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *(*real)(struct ibv_context *) =
		dlsym(RTLD_NEXT, "ibv_alloc_pd");
	int rc = alloc_pd_fails;

	alloc_pd_fails = 0;
	if (rc) {
		errno = rc > 0 ? rc : 0;
		return NULL;
	}
	return real(ctx);
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	int (*real)(struct rdma_cm_event *) =
		dlsym(RTLD_NEXT, "rdma_ack_cm_event");
	int rc = real(event);

	if (ack_fails) {
		errno = ack_fails;
		rc = -1;
	}
	ack_fails = 0;
	return rc;
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	int (*real)(struct rdma_cm_id *, struct rdma_event_channel *) =
		dlsym(RTLD_NEXT, "rdma_migrate_id");

	errno = migrate_fails;
	migrate_fails = 0;
	return errno ? -1 : real(id, channel);
}

/* A sanitizer's malloc() cannot be replaced: tests that need a failing one are skipped. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);

static bool out_of_memory(void)
{
	bool fails = malloc_fails;

	malloc_fails = false;
	if (fails)
		errno = ENOMEM;
	return fails;
}

void *malloc(size_t size)
{
	return out_of_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return out_of_memory() ? NULL : __libc_calloc(n, size);
}
#endif

void fail_malloc(void)
{
	/* By a volatile pointer, so that the compiler does not optimize the call away. */
	void *(*volatile any)(size_t) = malloc;
	void *memory;

	malloc_fails = true;
	memory = any(1);
	if (memory)
		skip("malloc() is somebody else's");
	malloc_fails = true;
}

void stop_failing_malloc(void)
{
	malloc_fails = false;
}
