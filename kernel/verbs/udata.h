/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copies drivers' data of verbs between user and kernel. The provider may be older or newer than
 * the kernel: fields it does not send read as 0, fields the kernel does not know must be 0.
 */
#ifndef PINION_VERBS_UDATA_H
#define PINION_VERBS_UDATA_H

#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#include "../mem/inject.h"

/* The process must send at least @min bytes; what is missing of @req is zeroed. */
static inline int pinion_udata_in(struct ib_udata *udata, void *req, size_t size, size_t min)
{
	int err;

	if (udata->inlen < min)
		return -EINVAL;
	err = copy_struct_from_user(req, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

/* A shorter buffer gets the beginning of @resp; the rest of a longer buffer is zeroed. */
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

/* For verbs without a request of ours. @udata is NULL for a kernel consumer. */
static inline int pinion_udata_in_none(struct ib_udata *udata)
{
	return udata ? pinion_udata_in(udata, NULL, 0, 0) : 0;
}

/*
 * For verbs with neither a request nor an answer of ours. Not for verbs that destroy: the core
 * calls those also after the process has died, when there is no user memory to access.
 */
static inline int pinion_udata_none(struct ib_udata *udata)
{
	int err = pinion_udata_in_none(udata);

	return err || !udata ? err : pinion_udata_out(udata, NULL, 0);
}

#endif
