// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, thread domains and parent domains.
 *
 * The kernel knows protection domains only. A parent domain has the handle of one, and
 * additionally says whether its objects are used by one thread at a time, and which
 * allocator gives memory for their rings.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

enum {
	PARENT_DOMAIN_MASK =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
		IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC,
};

static void users_get(uint32_t *users)
{
	__atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}

static void users_put(uint32_t *users)
{
	__atomic_sub_fetch(users, 1, __ATOMIC_RELEASE);
}

struct pinion_pd *pinion_parent_get(struct ibv_pd *ibpd)
{
	struct pinion_pd *pd = ibpd ? to_pinion_pd(ibpd) : NULL;

	if (!pd || !pd->inner)
		return NULL;
	users_get(&pd->users);
	return pd;
}

void pinion_parent_put(struct pinion_pd *parent)
{
	if (parent)
		users_put(&parent->users);
}

static bool in_use(const uint32_t *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE);
}

struct ibv_pd *pinion_alloc_pd(struct ibv_context *context)
{
	struct {
		struct ib_uverbs_alloc_pd_resp core;
		struct pinion_alloc_pd_resp pinion;
	} resp;
	struct ibv_alloc_pd cmd;
	struct pinion_pd *pd;
	int err;

	pd = pinion_zalloc(context, sizeof(*pd), "a domain");
	if (!pd)
		return NULL;

	err = ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd), &resp.core,
			       sizeof(resp));
	if (err) {
		free(pd);
		errno = err;
		return NULL;
	}
	return &pd->pd;
}

int pinion_dealloc_pd(struct ibv_pd *ibpd)
{
	struct pinion_pd *pd = to_pinion_pd(ibpd);
	int err = 0;

	if (in_use(&pd->users))
		return pinion_refuse(ibpd->context, EBUSY, "%s it",
				     pd->inner ? "queues are in" :
						 "parent domains are around");

	if (pd->inner) {
		users_put(&pd->inner->users);
		if (pd->td)
			users_put(&pd->td->users);
	} else {
		err = ibv_cmd_dealloc_pd(ibpd);
	}
	if (!err)
		free(pd);
	return err;
}

/* Fail now if @handle is not a domain, not when the domain is used. */
static int check_handle(struct ibv_context *context, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(attrs, UVERBS_OBJECT_PD, PINION_METHOD_PD_QUERY,
			       2);
	struct pinion_alloc_pd_resp resp;

	fill_attr_in_obj(attrs, PINION_ATTR_PD_QUERY_HANDLE, handle);
	fill_attr_out_ptr(attrs, PINION_ATTR_PD_QUERY_RESP, &resp);
	return execute_ioctl(context, attrs);
}

struct ibv_pd *pinion_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct pinion_pd *pd;
	int err;

	pd = pinion_zalloc(context, sizeof(*pd), "a domain");
	if (!pd)
		return NULL;

	err = check_handle(context, handle);
	if (err) {
		free(pd);
		errno = err;
		return NULL;
	}
	pd->pd.context = context;
	pd->pd.handle = handle;
	return &pd->pd;
}

/* Frees only this process's object; the domain stays. */
void pinion_unimport_pd(struct ibv_pd *ibpd)
{
	free(to_pinion_pd(ibpd));
}

struct ibv_td *pinion_alloc_td(struct ibv_context *context,
			       struct ibv_td_init_attr *attr)
{
	struct pinion_td *td;

	if (attr->comp_mask) {
		errno = pinion_refuse(context, EOPNOTSUPP,
				      "comp_mask %#x of a thread domain",
				      attr->comp_mask);
		return NULL;
	}

	td = pinion_zalloc(context, sizeof(*td), "a thread domain");
	if (!td)
		return NULL;

	td->td.context = context;
	return &td->td;
}

int pinion_dealloc_td(struct ibv_td *ibtd)
{
	struct pinion_td *td = to_pinion_td(ibtd);

	if (in_use(&td->users))
		return pinion_refuse(ibtd->context, EBUSY,
				     "parent domains have it");
	free(td);
	return 0;
}

/* Return: 0, or -1 with errno set. */
static int check_parent(struct ibv_context *context,
			struct ibv_parent_domain_init_attr *attr)
{
	if (ibv_check_alloc_parent_domain(attr)) {
		pinion_refuse(context, EINVAL, "no domain to be around");
		return -1;
	}
	if (!check_comp_mask(attr->comp_mask, PARENT_DOMAIN_MASK)) {
		errno = pinion_refuse(context, EINVAL,
				      "comp_mask %#x of a parent domain",
				      attr->comp_mask);
		return -1;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free)) {
		errno = pinion_refuse(context, EINVAL,
				      "an allocator without alloc or free");
		return -1;
	}
	return 0;
}

struct ibv_pd *
pinion_alloc_parent_domain(struct ibv_context *context,
			   struct ibv_parent_domain_init_attr *attr)
{
	struct pinion_pd *pd;

	if (check_parent(context, attr))
		return NULL;

	pd = pinion_zalloc(context, sizeof(*pd), "a domain");
	if (!pd)
		return NULL;

	pd->inner = to_pinion_pd(attr->pd);
	users_get(&pd->inner->users);
	if (attr->td) {
		pd->td = to_pinion_td(attr->td);
		users_get(&pd->td->users);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	ibv_initialize_parent_domain(&pd->pd, attr->pd);
	return &pd->pd;
}

/* Has the application promised that one thread at a time uses the objects in @ibpd? */
bool pinion_single_threaded(struct ibv_pd *ibpd)
{
	struct pinion_pd *pd;

	for (pd = to_pinion_pd(ibpd); pd; pd = pd->inner) {
		if (pd->td)
			return true;
	}
	return false;
}
