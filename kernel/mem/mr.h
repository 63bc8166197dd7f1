/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions and windows as verbs objects: each owns one key.
 */
#ifndef PINION_MEM_MR_H
#define PINION_MEM_MR_H

#include <rdma/ib_verbs.h>

#include "key.h"

/* Rights live in the key; how memory is pinned or named does not. */
#define PINION_KEY_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			   IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			   IB_ACCESS_MW_BIND | \
			   IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

/* Windows name addresses, of which a region that is zero-based has none. */
static inline u32 pinion_key_rights(int access)
{
	if (access & IB_ZERO_BASED)
		access &= ~IB_ACCESS_MW_BIND;
	return access & PINION_KEY_RIGHTS;
}

/* What a region's memory is, or NULL: not all kinds have all of it. */
struct pinion_backing {
	struct ib_umem *umem;		/* user memory, or a dma-buf */
	struct pinion_mtt *mtt;		/* the table in force, unless a pager exchanges it */
	struct pinion_pager *pager;	/* pages come and go: owner of both */
};

struct pinion_mr {
	struct ib_mr ibmr;
	struct pinion_key *key;
	struct pinion_backing backing;	/* ours; the key says where it is */
	int access;			/* as registered; rights are in the key */
	bool fast;			/* part of a struct pinion_fastreg */
};

/* For fast registration: a list filled by map_mr_sg, taken over by IB_WR_REG_MR. */
struct pinion_fastreg {
	struct pinion_mr mr;		/* first: freed as that */
	struct pinion_mtt *pages;	/* changes places with the one in force, gate closed */
	u32 max_pages;
	u32 num_pages;
	bool fresh;			/* not taken over yet */
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

/* Of one that is ->fast. */
static inline struct pinion_fastreg *to_pinion_fastreg(struct ib_mr *ibmr)
{
	return container_of(to_pinion_mr(ibmr), struct pinion_fastreg, mr);
}

static inline struct pinion_mw *to_pinion_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct pinion_mw, ibmw);
}

/* For a tracepoint that is on, and was when @begun was taken. */
static inline u64 pinion_since(u64 begun)
{
	return begun ? ktime_get_ns() - begun : 0;
}

/*
 * What was refused here and not by the core, told to who looks for it: the errno alone
 * does not say why. Return: @err.
 */
int pinion_mr_refused(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
		      const char *reason, int err);
int pinion_mr_check_span(u64 length, u64 iova, int access);

/* Takes over what is in @backing if all is well. Without table and pager there is no region. */
struct ib_mr *pinion_region_make(struct pinion_keys *keys, struct ib_pd *pd,
				 const struct pinion_backing *backing, u64 base, u64 length,
				 int access);

/* The verbs ops of the same names, less what only the verbs layer knows. */
struct ib_mr *pinion_get_dma_mr(struct pinion_keys *keys, struct ib_pd *pd, int access);
struct ib_mr *pinion_reg_user_mr(struct pinion_keys *keys, struct ib_pd *pd, u64 start,
				 u64 length, u64 iova, int access);
struct ib_mr *pinion_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length,
				   u64 iova, int access, struct ib_pd *pd);
int pinion_dereg_mr(struct ib_mr *ibmr);

int pinion_alloc_mw(struct pinion_keys *keys, struct ib_mw *ibmw);
int pinion_dealloc_mw(struct ib_mw *ibmw);

#endif
