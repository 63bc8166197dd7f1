// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Is the libibverbs we run with the one we were built for? Its private interface
 * changes without notice, at times under an unchanged symbol version; a provider
 * of another version loads, then crashes. So refuse, and say why.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/*
 * The file is called libibverbs.so.1.<minor>.<rdma-core's own version>. Releases
 * of one major version share the private interface. 0: it has no such name.
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
 * struct verbs_context_ops is sorted by name and grows in the middle. Where
 * libibverbs has put our operations tells whether both mean the same struct: the
 * ones that can be seen from outside are spread over all of it.
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

/* The log is off by default, and this is to be known by default. */
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
