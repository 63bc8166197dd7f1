/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An open device file of a process.
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
	struct mutex workers_lock;	/* they are being made */
	struct workqueue_struct *wq;	/* for its queue pairs: see path/qp.h; NULL: none yet */
	struct pinion_sleepers *faulter; /* bring pages of its memory; likewise */
	struct mutex events_lock;	/* verbs/devx_event.c's */
	struct pinion_hints hints;
	struct pinion_user *user;	/* who opened it */
};

static inline struct pinion_ucontext *to_pinion_ucontext(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct pinion_ucontext, ibucontext);
}

/* Its user, with a reference, and what needs no memory. Ends with the context's own op. */
int pinion_ucontext_open(struct pinion_ucontext *ucontext);

/*
 * With the first queue that needs them: @wq and @faulter work from here on, or -ENOMEM, or
 * -EAGAIN: the user waits for too many pages.
 */
int pinion_ucontext_make_workers(struct pinion_ucontext *ucontext);

#endif
