/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Records a program's calls of libibverbs, a line for each, in the file that PINION_RECORD names.
 * Preloaded by `pinionctl record'. `pinionctl replay' reads the file; its manual page describes the
 * lines.
 */
#ifndef PINION_RECORD_H
#define PINION_RECORD_H

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* ------------------------------------------------------------------------- lines */

struct line {
	char text[1 << 14];
	size_t length;
};

/* SECONDS PID CALL */
void line_begin(struct line *line, const char *call);
/* Add " NAME=VALUE". Left out if there is no room. */
void line_add(struct line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Write the line in one call, so that lines of several writers do not mix. Keeps errno. */
void line_end(struct line *line);
/* The same, after a call that returned @good or failed with errno. */
void line_done(struct line *line, bool good);

/* ------------------------------------------------ data about objects, by address */

/* Allocate @size zeroed bytes for @object; replaces those of an older one. */
void *kept_new(const void *object, size_t size);
void *kept(const void *object);
void kept_end(const void *object);

/* ------------------------------------------------------- calls that libraries do not export */

/* From here on posts and polls of the device's objects are recorded. */
void posts_watch(struct ibv_context *context);
void posts_forget(struct ibv_context *context);
/* Likewise for the functions of this queue, if it has any. */
void builder_watch(struct ibv_qp_ex *qp);
void poller_watch(struct ibv_cq_ex *cq);

void line_send(const struct ibv_qp *qp, const struct ibv_send_wr *wr);
void line_completion(const struct ibv_cq *cq, const struct ibv_wc *wc);
void line_new_cq(struct ibv_context *context, int entries, struct ibv_cq *cq);
void line_new_pd(struct ibv_context *context, struct ibv_pd *pd);
void line_new_qp(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init,
		 struct ibv_qp *qp);
void line_new_srq(struct ibv_pd *pd, const struct ibv_srq_attr *attr,
		  struct ibv_srq *srq);
void line_new_mr(const char *kind, const struct ibv_pd *pd, const void *addr,
		 size_t length, uint64_t iova, unsigned int access,
		 struct ibv_mr *mr);

#endif
