/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions and windows as verbs objects. Each owns one key.
 */
#ifndef PINION_MEM_MR_H
#define PINION_MEM_MR_H

#include <rdma/ib_verbs.h>

#include "key.h"

/* The access flags that are rights of the key. Others say how memory is pinned or addressed. */
#define PINION_KEY_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			   IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			   IB_ACCESS_MW_BIND | \
			   IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

/* Windows are bound by address, so a zero-based region cannot have any. */
static inline u32 pinion_key_rights(int access)
{
	if (access & IB_ZERO_BASED)
		access &= ~IB_ACCESS_MW_BIND;
	return access & PINION_KEY_RIGHTS;
}

/* The memory behind a region. A field is NULL if this kind of region has no such thing. */
struct pinion_backing {
	struct ib_umem *umem;		/* user memory, or a dma-buf */
	struct pinion_mtt *mtt;		/* the table in use, unless a pager exchanges it */
	struct pinion_pager *pager;	/* if pages come and go; owns the other two */
};

struct pinion_mr {
	struct ib_mr ibmr;
	struct pinion_key *key;
	struct pinion_backing backing;	/* owned; the key has copies of the pointers */
	int access;			/* as registered; rights are in the key */
	bool fast;			/* part of a struct pinion_fastreg */
};

/* A region for fast registration. map_mr_sg fills @pages; IB_WR_REG_MR makes it the key's table. */
struct pinion_fastreg {
	struct pinion_mr mr;		/* must be first: kfree(mr) frees all */
	struct pinion_mtt *pages;	/* swapped with mr.backing.mtt while the gate is closed */
	u32 max_pages;
	u32 num_pages;
	bool fresh;			/* @pages was filled and not swapped yet */
};

static_assert(!offsetof(struct pinion_fastreg, mr));

struct pinion_mw {
	struct ib_mw ibmw;
	struct pinion_key *key;
};

static inline struct pinion_mr *to_pinion_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct pinion_mr, ibmr);
}

/* The region must be ->fast. */
static inline struct pinion_fastreg *to_pinion_fastreg(struct ib_mr *ibmr)
{
	return container_of(to_pinion_mr(ibmr), struct pinion_fastreg, mr);
}

static inline struct pinion_mw *to_pinion_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct pinion_mw, ibmw);
}

/* Nanoseconds since @begun; 0 if that is 0, as the tracepoint was off then. */
static inline u64 pinion_since(u64 begun)
{
	return begun ? ktime_get_ns() - begun : 0;
}

/*
 * Report why a registration was refused, by a tracepoint and a debug message: the errno does not
 * say enough. Return: @err.
 */
int pinion_mr_refused(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
		      const char *reason, int err);
/* -EINVAL if there is no length, or the addresses wrap. */
int pinion_mr_check_span(u64 length, u64 iova, int access);

/* On success the region owns what is in @backing, which must have a table or a pager. */
struct ib_mr *pinion_region_make(struct pinion_keys *keys, struct ib_pd *pd,
				 const struct pinion_backing *backing, u64 base, u64 length,
				 int access);

/* The ops of the same names; the verbs layer has checked drivers' data and counted the object. */
struct ib_mr *pinion_get_dma_mr(struct pinion_keys *keys, struct ib_pd *pd, int access);
struct ib_mr *pinion_reg_user_mr(struct pinion_keys *keys, struct ib_pd *pd, u64 start,
				 u64 length, u64 iova, int access);
struct ib_mr *pinion_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length,
				   u64 iova, int access, struct ib_pd *pd);
int pinion_dereg_mr(struct ib_mr *ibmr);

int pinion_alloc_mw(struct pinion_keys *keys, struct ib_mw *ibmw);
int pinion_dealloc_mw(struct ib_mw *ibmw);

#endif
