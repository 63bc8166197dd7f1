// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds shared rings in this process's address space. Judges nothing.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "raw.h"
#include "rings.h"

enum { MAX_RINGS = 64 };

int rings_list(struct ring *rings, int max)
{
	FILE *file = MUST(fopen("/proc/self/maps", "r"));
	uint64_t start, end, offset;
	char line[512];
	int count = 0;

	while (count < max && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "/uverbs"))
			continue;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start,
			   &end, &offset) != 3)
			continue;
		rings[count++] = (struct ring){
			.hdr = (void *)start,
			.slots = (uint8_t *)start +
				 sizeof(struct pinion_ring_hdr),
			.length = end - start,
			.offset = offset,
		};
	}
	fclose(file);
	return count;
}

static bool known(const struct ring *rings, int count, const struct ring *ring)
{
	int i;

	for (i = 0; i < count; i++) {
		if (rings[i].offset == ring->offset)
			return true;
	}
	return false;
}

/* The only ring that is not in @old, of at least @least and less than @most bytes. */
static struct ring find(const struct ring *old, int num_old, size_t least,
			size_t most)
{
	struct ring rings[MAX_RINGS];
	int count = rings_list(rings, MAX_RINGS), i;

	for (i = 0; i < count; i++) {
		if (!known(old, num_old, &rings[i]) &&
		    rings[i].length >= least && rings[i].length < most)
			return rings[i];
	}
	FAIL("no ring between %zu and %zu bytes", least, most);
}

/* Make rings of different sizes, to tell them apart: send rings of one page, receive of more. */
void raw_end_make(struct raw_end *raw, const struct qp_cfg *cfg)
{
	struct qp_cfg mine = cfg ? *cfg : (struct qp_cfg){};
	struct ibv_qp_init_attr init;
	struct ring old[MAX_RINGS];
	struct ibv_qp_attr attr;
	int count;

	memset(raw, 0, sizeof(*raw));
	mine.wr = 16;
	mine.recv_wr = 256;
	mine.sge = 4;
	mine.inline_data = 64;
	mine.no_ex = true;
	mine.raw = true;
	count = rings_list(old, MAX_RINGS);
	if (!mine.scq) {
		mine.scq = MUST(
			ibv_create_cq(mine.ctx ?: dev.ctx, 256, NULL, NULL, 0));
		raw->cq = find(old, count, 1, SIZE_MAX);
		raw->cq.entries = mine.scq->cqe;
		raw->cq.stride = sizeof(struct pinion_cqe);
	}
	if (!mine.rcq)
		mine.rcq = mine.scq;
	count = rings_list(old, MAX_RINGS);
	end_make(&raw->end, &mine);
	CHECK_EQ(ibv_query_qp(raw->end.qp, &attr, IBV_QP_CAP, &init), 0);

	raw->sq = find(old, count, 1, PAGE + 1);
	raw->sq.entries = attr.cap.max_send_wr;
	raw->sq.stride = sizeof(struct pinion_sq_wqe) +
			 attr.cap.max_send_sge * sizeof(struct pinion_sge);
	if (!attr.cap.max_recv_wr)
		return;
	raw->rq = find(old, count, PAGE + 1, SIZE_MAX);
	raw->rq.entries = attr.cap.max_recv_wr;
	raw->rq.stride = sizeof(struct pinion_rq_wqe) +
			 attr.cap.max_recv_sge * sizeof(struct pinion_sge);
}

static void unmap(const struct ring *ring)
{
	if (ring->hdr)
		CHECK_EQ(munmap((void *)ring->hdr, ring->length), 0);
}

void raw_end_free(struct raw_end *raw)
{
	int fd = raw->end.cfg.ctx->cmd_fd;

	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_QP, raw->end.qp->handle),
		 0);
	unmap(&raw->sq);
	unmap(&raw->rq);
	if (raw->cq.hdr)
		CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_CQ,
					   raw->end.scq->handle),
			 0);
	unmap(&raw->cq);
}

void raw_end_reset(struct raw_end *raw)
{
	raw->sq.next = 0;
	raw->rq.next = 0;
}

struct pinion_sq_wqe *ring_wqe(struct ring *ring)
{
	struct pinion_sq_wqe *wqe;

	wqe = (void *)(ring->slots +
		       (size_t)(ring->next & (ring->entries - 1)) *
			       ring->stride);
	memset(wqe, 0, ring->stride);
	return wqe;
}

struct pinion_rq_wqe *ring_recv(struct ring *ring)
{
	return (void *)ring_wqe(ring);
}

struct pinion_sge *wqe_sges(struct pinion_sq_wqe *wqe)
{
	return (struct pinion_sge *)(wqe + 1);
}

void ring_publish(struct ring *ring, uint32_t count)
{
	ring->next += count;
	__atomic_store_n(&ring->hdr->user_idx, ring->next, __ATOMIC_RELEASE);
}

int ring_doorbell(struct raw_end *raw)
{
	return raw_doorbell(dev.ctx->cmd_fd, raw->end.qp->handle);
}
