// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checks that the libibverbs we run with is the one we were built for. Its private
 * interface for providers changes without notice, sometimes without a new symbol
 * version. A provider built for another version would load and then crash, so refuse.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/*
 * The major version of rdma-core. The file is called
 * libibverbs.so.1.<minor>.<rdma-core's version>; releases of one major version have the
 * same private interface. 0: the file has no such name.
 */
static unsigned int loaded_major(void)
{
	char path[PATH_MAX];
	unsigned int major;
	const char *name;
	Dl_info info;

	if (!dladdr((void *)verbs_set_ops, &info) ||
	    !realpath(info.dli_fname, path))
		return 0;
	name = strrchr(path, '/') + 1;
	if (sscanf(name, "libibverbs.so.1.%*u.%u", &major) != 1)
		return 0;
	return major;
}

/*
 * struct verbs_context_ops is sorted by name and grows in the middle. So compare the
 * operations that libibverbs has stored with ours: if its struct had another layout they
 * would differ. Those that can be seen in struct ibv_context are spread over all of it.
 */
static bool ops_understood(const struct ibv_context_ops *seen,
			   const struct verbs_context_ops *ops)
{
	return seen->alloc_mw == ops->alloc_mw &&
	       seen->dealloc_mw == ops->dealloc_mw &&
	       seen->poll_cq == ops->poll_cq &&
	       seen->post_send == ops->post_send &&
	       seen->post_srq_recv == ops->post_srq_recv &&
	       (void *)seen->_compat_reg_mr == (void *)ops->reg_mr &&
	       seen->req_notify_cq == ops->req_notify_cq &&
	       (void *)seen->_compat_resize_cq == (void *)ops->resize_cq;
}

/* To stderr, too, as the log is off by default. */
void pinion_mismatch(struct verbs_context *vctx, const char *text)
{
	fprintf(stderr, "pinion: %s\n", text);
	verbs_err(vctx, "%s\n", text);
}

bool pinion_libibverbs_matches(struct verbs_context *vctx,
			       const struct verbs_context_ops *ops)
{
	unsigned int major = loaded_major();

	if ((!major || major == RDMA_CORE_MAJOR) &&
	    ops_understood(&vctx->context.ops, ops))
		return true;

	pinion_mismatch(
		vctx,
		"the provider was built for rdma-core " PINION_RDMA_CORE_VERSION
		" and cannot work with the libibverbs installed here; build it again");
	return false;
}
