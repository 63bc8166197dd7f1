/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An open device file of a process.
 */
#ifndef PINION_VERBS_UCONTEXT_H
#define PINION_VERBS_UCONTEXT_H

#include <rdma/ib_verbs.h>

#include "../mem/hints.h"
#include "../path/fault.h"

struct pinion_user;

struct pinion_ucontext {
	struct ib_ucontext ibucontext;
	struct workqueue_struct *wq;	/* for its queue pairs: see path/qp.h */
	struct pinion_faulter faulter;	/* for its memory */
	struct pinion_hints hints;
	struct pinion_user *user;	/* who opened it */
};

static inline struct pinion_ucontext *to_pinion_ucontext(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct pinion_ucontext, ibucontext);
}

#endif
