/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a program asks of libibverbs, a line for each call, written to the file that PINION_RECORD
 * names. Preloaded by `pinionctl record'; read by `pinionctl replay', whose page says what a
 * line has.
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
/* Each " NAME=VALUE". What has no room is left out. */
void line_add(struct line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Written at once and whole, whoever else writes; errno stays. */
void line_end(struct line *line);
/* The same, after a call that returned @good or failed with errno. */
void line_done(struct line *line, bool good);

/* ------------------------------------------------ what is kept of an object, by address */

/* Room of the caller's, of @size bytes and empty; what was there of an older one is gone. */
void *kept_new(const void *object, size_t size);
void *kept(const void *object);
void kept_end(const void *object);

/* ------------------------------------------------------- calls that libraries do not export */

/* From here on posts and completions of the device's objects come by here. */
void posts_watch(struct ibv_context *context);
void posts_forget(struct ibv_context *context);
/* And of this queue by the calls that are its own, if it has any. */
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
