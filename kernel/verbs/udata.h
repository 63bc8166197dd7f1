/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Command payloads that may be older or newer than this kernel: what is missing
 * reads as zero, what is unknown must be zero.
 */
#ifndef PINION_VERBS_UDATA_H
#define PINION_VERBS_UDATA_H

#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#include "../mem/inject.h"

/* @min bytes must be there; the rest of @req is zero where the sender knew less. */
static inline int pinion_udata_in(struct ib_udata *udata, void *req, size_t size, size_t min)
{
	int err;

	if (udata->inlen < min)
		return -EINVAL;
	err = copy_struct_from_user(req, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

/* A shorter buffer gets the beginning, the end of a longer one is cleared. */
static inline int pinion_udata_out(struct ib_udata *udata, const void *resp, size_t size)
{
	size_t len = min(size, udata->outlen);
	int err = pinion_inject_here(PINION_INJECT_COPY_OUT);

	if (err)
		return -err;
	if (copy_to_user(udata->outbuf, resp, len))
		return -EFAULT;
	if (clear_user(udata->outbuf + len, udata->outlen - len))
		return -EFAULT;
	return 0;
}

/* For verbs whose callers have nothing to say. NULL is a kernel consumer. */
static inline int pinion_udata_in_none(struct ib_udata *udata)
{
	return udata ? pinion_udata_in(udata, NULL, 0, 0) : 0;
}

/*
 * For verbs with nothing to say to either side. Destroying is no such verb: the core
 * does it for the dead, too, who have no memory to look at.
 */
static inline int pinion_udata_none(struct ib_udata *udata)
{
	int err = pinion_udata_in_none(udata);

	return err || !udata ? err : pinion_udata_out(udata, NULL, 0);
}

#endif
