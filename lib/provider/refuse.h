/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Logs why a call is refused, in libibverbs' log (VERBS_LOG_LEVEL=4, VERBS_LOG_FILE), as
 * an errno does not say enough. The kernel reports its own refusals otherwise.
 */
#ifndef PINION_REFUSE_H
#define PINION_REFUSE_H

#include <errno.h>
#include <stdlib.h>

#include "compat.h"

/* Cold: compilers move branches that call it off the fast path. */
extern __typeof__(__verbs_log) __verbs_log __attribute__((cold));

#define pinion_verbs_context(ctx) \
	container_of(ctx, struct verbs_context, context)

#define pinion_refuse_as(ctx, name, err, format, ...)                         \
	({                                                                    \
		verbs_debug(pinion_verbs_context(ctx), name ": " format "\n", \
			    ##__VA_ARGS__);                                   \
		(err);                                                        \
	})

/* Log a refusal by the provider. @err is the name of an errno; the value is that errno. */
#define pinion_refuse(ctx, err, ...) \
	pinion_refuse_as(ctx, #err, err, __VA_ARGS__)

/* Log that a step inside a call has failed in the kernel, if @err is an errno, not 0. */
#define pinion_failed(ctx, err, format, ...)                              \
	({                                                                \
		int __err = (err);                                        \
		if (__err)                                                \
			verbs_debug(pinion_verbs_context(ctx),            \
				    format ": errno %d\n", ##__VA_ARGS__, \
				    __err);                               \
		__err;                                                    \
	})

/* Zeroed memory for @what, or NULL with errno set. */
static inline void *pinion_zalloc(struct ibv_context *ctx, size_t size,
				  const char *what)
{
	void *memory = calloc(1, size);

	if (!memory)
		errno = pinion_refuse(ctx, ENOMEM, "no memory for %s", what);
	return memory;
}

#endif /* PINION_REFUSE_H */
