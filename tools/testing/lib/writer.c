// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes, or reads, in a loop, and renews the link after each refusal.
 */
#include "writer.h"

static void *write_on(void *arg)
{
	struct writer *w = arg;
	struct ibv_wc wc;

	while (!w->stop) {
		wc = rdma(&w->link->a,
			  w->reads && rnd() & 1 ? IBV_WR_RDMA_READ :
						  IBV_WR_RDMA_WRITE,
			  sge_of(w->from, 0, w->from->buf->length), w->addr,
			  w->rkey);
		if (wc.status == IBV_WC_SUCCESS) {
			w->done++;
			continue;
		}
		expect(wc, IBV_WC_REM_ACCESS_ERR);
		w->refused++;
		link_renew(w->link);
	}
	return NULL;
}

void writer_start(struct writer *w)
{
	CHECK_EQ(pthread_create(&w->thread, NULL, write_on, w), 0);
}

void writer_end(struct writer *w, unsigned long rounds)
{
	w->stop = true;
	pthread_join(w->thread, NULL);
	note("%lu rounds, %lu messages, %lu refused", rounds, w->done,
	     w->refused);
	CHECK(w->done);
}
