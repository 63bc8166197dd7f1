// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * replay: domains, regions, windows and address handles; and finding objects by recorded ids.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "replay.h"

struct object {
	enum kind kind;
	uint64_t pid;
	uint64_t id;
	void *is;
};

static void *objects;

static int object_compare(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void *object_find(enum kind kind, uint64_t pid, uint64_t id)
{
	struct object key = { .kind = kind, .pid = pid, .id = id };
	struct object **found = tfind(&key, &objects, object_compare);

	return found ? (*found)->is : NULL;
}

void object_set(enum kind kind, uint64_t pid, uint64_t id, void *is)
{
	struct object *object = need(calloc(1, sizeof(*object)));
	struct object **found;

	*object = (struct object){ .kind = kind, .pid = pid, .id = id };
	found = need(tsearch(object, &objects, object_compare));
	if (*found != object)
		free(object);
	(*found)->is = is;
}

/* The object that the call names; if it does not exist here the call is reported as skipped. */
static void *object_of(const struct call *call, enum kind kind,
		       const char *name)
{
	void *is = object_find(kind, call->pid, call_value(call, name));

	if (!is)
		replay_left();
	return is;
}

static void object_made(const struct call *call, enum kind kind,
			const char *name, void *is)
{
	replay_compare(call, call_value(call, "errno"), is ? 0 : errno);
	/* If the recorded call has failed there is no id. */
	if (call_value(call, name))
		object_set(kind, call->pid, call_value(call, name), is);
}

static void object_ended(const struct call *call, enum kind kind,
			 const char *name, int err)
{
	replay_compare(call, 0, err);
	if (!err)
		object_set(kind, call->pid, call_value(call, name), NULL);
}

/* ------------------------------------------------------------------------- domains */

static void alloc_pd(const struct call *call)
{
	object_made(call, KIND_PD, "pd", ibv_alloc_pd(replay_device.context));
}

static void dealloc_pd(const struct call *call)
{
	struct ibv_pd *pd = object_of(call, KIND_PD, "pd");

	if (pd)
		object_ended(call, KIND_PD, "pd", ibv_dealloc_pd(pd));
}

/* ------------------------------------------------------------------------- regions */

static void region_keys(const struct call *call, struct region *region)
{
	uint64_t rkey = call_value(call, "rkey");

	object_set(KIND_LKEY, call->pid, call_value(call, "lkey"), region);
	object_set(KIND_RKEY, call->pid, rkey, region);
	object_set(KIND_RKEY, 0, rkey, region);
}

/* Set the region's address in requests: the recorded iova if it was not the memory's address. */
static void region_place(struct region *region, const struct call *call,
			 void *memory)
{
	uint64_t addr = call_value(call, "addr"),
		 iova = call_value(call, "iova");

	region->addr = iova;
	region->base = iova;
	if (call_value(call, "access") & IBV_ACCESS_ZERO_BASED)
		region->addr = region->base = 0;
	else if (iova == addr)
		region->base = (uintptr_t)memory;
}

static struct ibv_mr *region_reg(const struct call *call, struct ibv_pd *pd,
				 void *memory)
{
	uint64_t length = call_value(call, "length"),
		 iova = call_value(call, "iova"),
		 access = call_value(call, "access");

	if (!call_value(call, "addr") && length == SIZE_MAX)
		return ibv_reg_mr(pd, NULL, SIZE_MAX, access);
	if (iova == call_value(call, "addr"))
		return ibv_reg_mr(pd, memory, length, access);
	return ibv_reg_mr_iova2(pd, memory, length, iova, access);
}

/* Dma-bufs and device memory are replaced by normal memory. */
static void *region_memory(const struct call *call)
{
	const struct field *kind = row_find(&call->row, "kind");

	if (kind && strcmp(kind->text, "memory"))
		return memory_more(call_value(call, "length"),
				   call_value(call, "iova"));
	return memory_at(call->pid, call_value(call, "addr"));
}

static void reg_mr(const struct call *call)
{
	struct ibv_pd *pd = object_of(call, KIND_PD, "pd");
	struct region *region;
	void *memory;

	if (!pd)
		return;
	memory = region_memory(call);
	if (!memory && call_value(call, "addr")) {
		replay_left();
		return;
	}
	region = need(calloc(1, sizeof(*region)));
	region->pid = call->pid;
	region_place(region, call, memory);
	region->mr = region_reg(call, pd, memory);
	replay_compare(call, call_value(call, "errno"), region->mr ? 0 : errno);
	if (!region->mr || !call_value(call, "mr")) {
		if (region->mr)
			ibv_dereg_mr(region->mr);
		free(region);
		return;
	}
	region->lkey = region->mr->lkey;
	region->rkey = region->mr->rkey;
	object_set(KIND_MR, call->pid, call_value(call, "mr"), region);
	region_keys(call, region);
}

static void rereg_mr(const struct call *call)
{
	struct region *region = object_of(call, KIND_MR, "mr");
	int flags = call_value(call, "flags"), result;
	struct ibv_pd *pd = NULL;
	void *memory = memory_at(call->pid, call_value(call, "addr"));

	if (!region)
		return;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		pd = object_of(call, KIND_PD, "pd");
		if (!pd)
			return;
	}
	result = ibv_rereg_mr(region->mr, flags, pd, memory,
			      call_value(call, "length"),
			      call_value(call, "access"));
	replay_compare(call, call_value(call, "errno"), result ? errno : 0);
	region->lkey = region->mr->lkey;
	region->rkey = region->mr->rkey;
	if (!result && (flags & IBV_REREG_MR_CHANGE_TRANSLATION)) {
		region->addr = call_value(call, "addr");
		region->base = (uintptr_t)memory;
	}
	region_keys(call, region);
}

static void dereg_mr(const struct call *call)
{
	struct region *region = object_of(call, KIND_MR, "mr");
	int err;

	if (!region)
		return;
	err = ibv_dereg_mr(region->mr);
	object_ended(call, KIND_MR, "mr", err);
	if (!err)
		region->mr = NULL;
}

/* ------------------------------------------------------------------------- windows */

static void alloc_mw(const struct call *call)
{
	struct ibv_pd *pd = object_of(call, KIND_PD, "pd");
	struct window *window;

	if (!pd)
		return;
	window = need(calloc(1, sizeof(*window)));
	window->mw = ibv_alloc_mw(pd, call_value(call, "type"));
	replay_compare(call, call_value(call, "errno"), window->mw ? 0 : errno);
	if (!window->mw || !call_value(call, "mw")) {
		free(window);
		return;
	}
	window->recorded = call_value(call, "rkey");
	window->here = window->mw->rkey;
	object_set(KIND_MW, call->pid, call_value(call, "mw"), window);
}

static void dealloc_mw(const struct call *call)
{
	struct window *window = object_of(call, KIND_MW, "mw");

	if (window)
		object_ended(call, KIND_MW, "mw", ibv_dealloc_mw(window->mw));
}

/* ----------------------------------------------------------------- address handles */

/* Unicast destinations are replaced by this device's address; groups stay. */
static void create_ah(const struct call *call)
{
	struct ibv_pd *pd = object_of(call, KIND_PD, "pd");
	const struct field *gid = row_find(&call->row, "dgid");
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = replay_device.gid,
			 .sgid_index = replay_device.gid_index,
			 .hop_limit = 1 },
		.dlid = replay_device.port.lid,
	};

	if (!pd)
		return;
	if (gid && !strncmp(gid->text, "ff", 2)) {
		replay_left();
		return;
	}
	object_made(call, KIND_AH, "ah", ibv_create_ah(pd, &attr));
}

static void destroy_ah(const struct call *call)
{
	struct ibv_ah *ah = object_of(call, KIND_AH, "ah");

	if (ah)
		object_ended(call, KIND_AH, "ah", ibv_destroy_ah(ah));
}

bool replay_object(const struct call *call)
{
	static const struct replay_call calls[] = {
		{ "alloc_pd", alloc_pd },     { "dealloc_pd", dealloc_pd },
		{ "reg_mr", reg_mr },	      { "rereg_mr", rereg_mr },
		{ "dereg_mr", dereg_mr },     { "alloc_mw", alloc_mw },
		{ "dealloc_mw", dealloc_mw }, { "create_ah", create_ah },
		{ "destroy_ah", destroy_ah }, {},
	};

	return replay_run(calls, call);
}
