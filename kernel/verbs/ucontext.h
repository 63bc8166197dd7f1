/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A context: one open device file of a process.
 */
#ifndef PINION_VERBS_UCONTEXT_H
#define PINION_VERBS_UCONTEXT_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "../mem/hints.h"
#include "../path/fault.h"

struct pinion_user;

struct pinion_ucontext {
	struct ib_ucontext ibucontext;
	struct mutex workers_lock;	/* held while @wq and @faulter are made */
	struct workqueue_struct *wq;	/* executes for its queue pairs, see path/qp.h; or NULL */
	struct pinion_sleepers *faulter; /* work items that fault pages of its memory; or NULL */
	struct mutex events_lock;	/* used in verbs/devx_event.c only */
	struct pinion_hints hints;	/* advice of ibv_advise_mr() that is carried out later */
	struct pinion_user *user;	/* who opened the file; a reference */
};

static inline struct pinion_ucontext *to_pinion_ucontext(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct pinion_ucontext, ibucontext);
}

/* Take the user's reference, and initialize the rest. The core calls _close() when it ends. */
int pinion_ucontext_open(struct pinion_ucontext *ucontext);
void pinion_ucontext_close(struct ib_ucontext *context);

/*
 * Make @wq and @faulter unless they exist; called when a queue is created. -ENOMEM; -EAGAIN: too
 * many threads wait for pages of this user already.
 */
int pinion_ucontext_make_workers(struct pinion_ucontext *ucontext);

#endif
