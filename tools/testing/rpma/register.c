// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rpma_mr_reg() and rpma_mr_dereg(): each use alone and together, the access rights of each,
 * each error (items E1, E2, E11 to E24, E26, E34, E36). Traffic is in transfer.c.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/capability.h>
#include <sys/syscall.h>

#include "sides.h"
#include "verbs.h"

#define ALL_USAGES 0xff

static char memory[3 * 4096] __attribute__((aligned(4096)));
static struct rpma_peer *peer;

static struct rpma_mr_local *const untouched = (void *)0x5a5a;

static void begin(void)
{
	peer = peer_new();
	registrations_reset();
}

static void end(void)
{
	CHECK_EQ(rpma_peer_delete(&peer), 0);
	CHECK(!peer);
}

static struct rpma_mr_local *reg(int usage)
{
	struct rpma_mr_local *mr = untouched;

	CHECK_EQ(rpma_mr_reg(peer, memory, sizeof(memory), usage, &mr), 0);
	CHECK(mr && mr != untouched);
	return mr;
}

static void dereg(struct rpma_mr_local *mr)
{
	CHECK_EQ(rpma_mr_dereg(&mr), 0);
	CHECK(!mr);
}

/* A failure leaves *mr_ptr alone (E12). */
static void refused(void *ptr, size_t size, int usage, int want)
{
	struct rpma_mr_local *mr = untouched;

	CHECK_EQ(rpma_mr_reg(peer, ptr, size, usage, &mr), want);
	CHECK(mr == untouched);
}

/* Each use and each combination of uses can be registered. */
static void e1_e2_usages(void)
{
	int usage;

	begin();
	for (usage = 1; usage <= ALL_USAGES; usage++) {
		context("usage %#x", usage);
		dereg(reg(usage));
	}
	end();
}

/* Each use becomes the access flags that librpma takes for it. */
static void rights_of_usages(void)
{
	static const struct {
		int usage, access;
	} cases[] = {
		{ RPMA_MR_USAGE_READ_SRC, IBV_ACCESS_REMOTE_READ },
		{ RPMA_MR_USAGE_READ_DST, IBV_ACCESS_LOCAL_WRITE },
		{ RPMA_MR_USAGE_WRITE_SRC, IBV_ACCESS_LOCAL_WRITE },
		{ RPMA_MR_USAGE_WRITE_DST,
		  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE },
		{ RPMA_MR_USAGE_SEND, 0 },
		{ RPMA_MR_USAGE_RECV, IBV_ACCESS_LOCAL_WRITE },
	};
	struct rpma_mr_local *mr;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int want = cases[i].access;

		context("usage %#x", cases[i].usage);
		/* E23: iWARP's READ is the other side's WRITE. */
		if (iwarp() && cases[i].usage == RPMA_MR_USAGE_READ_DST)
			want |= IBV_ACCESS_REMOTE_WRITE;
		registrations_reset();
		mr = reg(cases[i].usage);
		CHECK_EQ(registrations.calls, 1);
		CHECK_EQ(registrations.access[0], want);
		dereg(mr);
	}
	end();
}

/* The device's FLUSH right if it has one; remote read always, for peers without FLUSH. */
static void rights_of_flushes(void)
{
	uint64_t caps = dev.attr.device_cap_flags_ex;
	struct rpma_mr_local *mr;
	int want;

	begin();
	want = IBV_ACCESS_REMOTE_READ | (caps >> 38 & 1 ? 1 << 8 : 0);
	mr = reg(RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	CHECK_EQ(registrations.access[0], want);
	dereg(mr);

	registrations_reset();
	want = IBV_ACCESS_REMOTE_READ | (caps >> 39 & 1 ? 1 << 9 : 0);
	mr = reg(RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	CHECK_EQ(registrations.access[0], want);
	/* This memory is not persistent: a device that checks refuses at first. */
	CHECK_EQ(registrations.calls, caps >> 39 & 1 ? 2 : 1);
	if (registrations.calls == 2)
		CHECK_EQ(registrations.access[1], want & ~(1 << 9));
	dereg(mr);
	end();
}

/* Wrong arguments are RPMA_E_INVAL, and nothing is registered. */
static void e13_to_e19_arguments(void)
{
	struct rpma_peer *none = NULL;
	struct rpma_mr_local *mr = untouched;

	begin();
	CHECK_EQ(rpma_mr_reg(none, memory, 1, 1, &mr), RPMA_E_INVAL);
	CHECK_EQ(rpma_mr_reg(peer, memory, 1, 1, NULL), RPMA_E_INVAL);
	CHECK(mr == untouched);
	refused(NULL, 4096, RPMA_MR_USAGE_SEND, RPMA_E_INVAL);
	refused(memory, 0, RPMA_MR_USAGE_SEND, RPMA_E_INVAL);
	refused(memory, 4096, 0, RPMA_E_INVAL);
	refused(memory, 4096, 0x100, RPMA_E_INVAL);
	refused(memory, 4096, RPMA_MR_USAGE_SEND | INT32_MIN, RPMA_E_INVAL);
	CHECK_EQ(registrations.calls, 0);
	end();
}

/* Without memory it is RPMA_E_NOMEM, and nothing is registered. */
static void e20_out_of_memory(void)
{
	begin();
	fail_malloc();
	refused(memory, 4096, RPMA_MR_USAGE_SEND, RPMA_E_NOMEM);
	stop_failing_malloc();
	CHECK_EQ(registrations.calls, 0);
	dereg(reg(RPMA_MR_USAGE_SEND));
	end();
}

static int said_errors;

static void listen_to_errors(enum rpma_log_level level, const char *file,
			     const int line, const char *function,
			     const char *format, ...)
{
	(void)file, (void)line, (void)function, (void)format;
	said_errors += level == RPMA_LOG_LEVEL_ERROR;
}

/* E36: each failure is logged as an error. */
static void e21_provider_fails(void)
{
	static const int errnos[] = { EFAULT, ENOMEM, EINVAL,
				      EPERM,  ENODEV, EBUSY };
	size_t i;

	begin();
	CHECK_EQ(rpma_log_set_function(listen_to_errors), 0);
	for (i = 0; i < ARRAY_SIZE(errnos); i++) {
		context("errno %d", errnos[i]);
		registrations_reset();
		registrations.fail[0] = errnos[i];
		said_errors = 0;
		refused(memory, 4096, RPMA_MR_USAGE_RECV, RPMA_E_PROVIDER);
		CHECK_EQ(registrations.calls, 1);
		CHECK_EQ(said_errors, 1);
	}
	CHECK_EQ(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
	/* An error that the kernel itself returns. */
	registrations_reset();
	context("unmapped");
	munmap(memory + 4096, 4096);
	refused(memory, sizeof(memory), RPMA_MR_USAGE_RECV, RPMA_E_PROVIDER);
	end();
}

/* Memory that cannot be written is refused. */
static void e11_read_only(void)
{
	void *map;

	begin();
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	refused(map, 4096, RPMA_MR_USAGE_RECV, RPMA_E_PROVIDER);
	/* Verbs would allow it; librpma always asks for local write. */
	refused(map, 4096, RPMA_MR_USAGE_WRITE_SRC, RPMA_E_PROVIDER);
	end();
}

static bool odp_capable(void)
{
	int odp = -1;

	CHECK_EQ(rpma_utils_ibv_context_is_odp_capable(dev.ctx, &odp), 0);
	return odp;
}

/* Memory that cannot be pinned is registered on demand, if the device can. */
static void e22_on_demand(void)
{
	int pinned = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct rpma_mr_local *mr;

	begin();
	/* The errno of the kernel for a file on a DAX file system. */
	registrations.fail[0] = EOPNOTSUPP;
	if (!odp_capable()) {
		refused(memory, 4096, RPMA_MR_USAGE_WRITE_DST, RPMA_E_PROVIDER);
		CHECK_EQ(registrations.calls, 1);
		end();
		return;
	}
	mr = reg(RPMA_MR_USAGE_WRITE_DST);
	CHECK_EQ(registrations.calls, 2);
	CHECK_EQ(registrations.access[0], pinned);
	CHECK_EQ(registrations.access[1], pinned | IBV_ACCESS_ON_DEMAND);
	dereg(mr);
	/* Only after this errno it tries again on demand, once, which may fail. */
	registrations_reset();
	registrations.fail[0] = EOPNOTSUPP;
	registrations.fail[1] = EOPNOTSUPP;
	refused(memory, 4096, RPMA_MR_USAGE_WRITE_DST, RPMA_E_PROVIDER);
	CHECK_EQ(registrations.calls, 2);
	end();
}

/* The same memory twice, and memory at odd addresses, are regions of their own. */
static void e24_twice_and_unaligned(void)
{
	struct rpma_mr_local *a, *b, *c = NULL;
	size_t size;
	void *ptr;

	begin();
	a = reg(RPMA_MR_USAGE_SEND);
	b = reg(RPMA_MR_USAGE_RECV);
	CHECK(a != b);
	CHECK_EQ(rpma_mr_reg(peer, memory + 4095, 2, RPMA_MR_USAGE_RECV, &c),
		 0);
	CHECK_EQ(rpma_mr_get_ptr(c, &ptr), 0);
	CHECK_EQ(rpma_mr_get_size(c, &size), 0);
	CHECK(ptr == memory + 4095);
	CHECK_EQ(size, 2);
	dereg(c);
	dereg(b);
	dereg(a);
	end();
}

/* Also E27: a peer with registered memory cannot be deleted, and stays usable. */
static void e26_dereg(void)
{
	struct rpma_mr_local *mr = NULL, *same;

	begin();
	CHECK_EQ(rpma_mr_dereg(NULL), RPMA_E_INVAL);
	CHECK_EQ(rpma_mr_dereg(&mr), 0);
	mr = same = reg(RPMA_MR_USAGE_RECV);
	dereg_fails = EBUSY;
	CHECK_EQ(rpma_mr_dereg(&mr), RPMA_E_PROVIDER);
	CHECK(mr == same);
	CHECK_EQ(rpma_peer_delete(NULL), RPMA_E_INVAL);
	CHECK_EQ(rpma_peer_delete(&peer), RPMA_E_PROVIDER);
	CHECK(peer);
	dereg(mr);
	end();
}

/* A peer that cannot be made: each reason has its error. */
static void peer_new_fails(void)
{
	struct rpma_peer *none = (void *)untouched;

	CHECK_EQ(rpma_peer_new(NULL, &none), RPMA_E_INVAL);
	CHECK_EQ(rpma_peer_new(dev.ctx, NULL), RPMA_E_INVAL);
	alloc_pd_fails = ENOMEM;
	CHECK_EQ(rpma_peer_new(dev.ctx, &none), RPMA_E_NOMEM);
	alloc_pd_fails = EPERM;
	CHECK_EQ(rpma_peer_new(dev.ctx, &none), RPMA_E_PROVIDER);
	alloc_pd_fails = -1;
	CHECK_EQ(rpma_peer_new(dev.ctx, &none), RPMA_E_UNKNOWN);
	fail_malloc();
	CHECK_EQ(rpma_peer_new(dev.ctx, &none), RPMA_E_NOMEM);
	CHECK((void *)none == untouched);
}

static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	data[0].effective &= ~(1U << CAP_IPC_LOCK);
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
}

/* More than may be locked is RPMA_E_PROVIDER. */
static void e34_memlock(void)
{
	struct rlimit limit = { 4096, 4096 };

	begin();
	drop_ipc_lock();
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	refused(memory, sizeof(memory), RPMA_MR_USAGE_RECV, RPMA_E_PROVIDER);
	end();
}

static const struct test tests[] = {
	TEST(e1_e2_usages, "E1,E2 each use and any combination"),
	TEST(rights_of_usages, "E23 the rights each use becomes"),
	TEST(rights_of_flushes, "E9,E10 the rights of flushes"),
	TEST(e11_read_only, "E11 memory that cannot be written"),
	TEST(e13_to_e19_arguments, "E12-E19 wrong arguments"),
	TEST(e20_out_of_memory, "E20 out of memory"),
	TEST(e21_provider_fails, "E21,E36 a failed registration"),
	TEST(e22_on_demand, "E22 on demand where memory cannot be pinned"),
	TEST(e24_twice_and_unaligned, "E24 twice, and unaligned"),
	TEST(e26_dereg, "E26,E27 deregistration that fails"),
	TEST(peer_new_fails, "a peer that cannot be made"),
	TEST(e34_memlock, "E34 beyond what may be locked"),
};

HARNESS_MAIN("rpma_mr_reg() and rpma_mr_dereg()", tests)
