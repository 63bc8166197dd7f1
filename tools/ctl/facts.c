// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints the raw attributes of a pinion device's regions and queues.
 */
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/pinion-abi.h>

#include "ctl.h"
#include "facts.h"
#include "words.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {
	[PINION_MR_PINNED] = "pinned",	[PINION_MR_ON_DEMAND] = "on-demand",
	[PINION_MR_DMABUF] = "dma-buf", [PINION_MR_DEVICE] = "device",
	[PINION_MR_FAST] = "fast",	[PINION_MR_ALL] = "all",
};

static void row_facts(struct row *row, const struct pinion_mr_facts *facts)
{
	row_text(row, "kind",
		 facts->kind < LENGTH(kinds) ? kinds[facts->kind] : "?");
	row_text(row, "state",
		 facts->flags & PINION_MR_VALID ? "valid" : "free");
	row_text(row, "gate",
		 facts->flags & PINION_MR_GATE_CLOSED ? "closed" : "open");
	row_access(row, "access", facts->access);
	row_hex(row, "address", facts->address);
	row_hex(row, "iova", facts->iova);
	/* Nobody has any of a kind that has none. */
	row_number(row, "block_size",
		   facts->block_shift ? 1ULL << facts->block_shift : 0);
	row_number(row, "entries", facts->entries);
	row_number(row, "table_bytes", facts->table_bytes);
	row_number(row, "pinned_pages", facts->pinned_pages);
	row_number(row, "windows", facts->windows);
	row_number(row, "generation", facts->generation);
	if (facts->kind != PINION_MR_DMABUF)
		return;
	row_text(row, "exporter", facts->exporter);
	row_text(row, "mapped", facts->flags & PINION_MR_MAPPED ? "yes" : "no");
	row_text(row, "held", facts->flags & PINION_MR_HELD ? "yes" : "no");
}

/* The module may be older or newer: missing fields are 0, unknown ones are ignored. */
static void raw_read(const struct attrs *attrs, void *facts, size_t size)
{
	const struct nlattr *attr = attrs->at[RDMA_NLDEV_ATTR_RES_RAW];
	size_t length = attr ? mnl_attr_get_payload_len(attr) : 0;

	memset(facts, 0, size);
	if (length)
		memcpy(facts, mnl_attr_get_payload(attr),
		       length < size ? length : size);
}

static bool facts_read(const struct attrs *attrs, struct pinion_mr_facts *facts)
{
	raw_read(attrs, facts, sizeof(*facts));
	facts->exporter[sizeof(facts->exporter) - 1] = 0;
	return facts->magic == PINION_MR_FACTS_MAGIC;
}

static void one_visit(const struct attrs *attrs, void *arg)
{
	struct pinion_mr_facts facts;

	if (facts_read(attrs, &facts))
		row_facts(arg, &facts);
}

bool facts_of(const struct device *device, uint32_t mrn, struct row *row)
{
	const struct question question = {
		.command = RDMA_NLDEV_CMD_RES_MR_GET_RAW,
		.num = 2,
		.with = { { RDMA_NLDEV_ATTR_DEV_INDEX, device->index },
			  { RDMA_NLDEV_ATTR_RES_MRN, mrn } },
	};

	/* Errors are ignored: no permission, or a device without such attributes. */
	netlink_ask(&question, one_visit, row);
	return row_find(row, "kind");
}

/* ------------------------------------------------------------------------- many regions */

struct facts {
	struct pinion_mr_facts *of;
	size_t num, room;
};

static void all_entry(const struct attrs *attrs, void *arg)
{
	struct facts *facts = arg;

	if (facts->num == facts->room) {
		facts->room = facts->room ? 2 * facts->room : 64;
		facts->of = need(
			realloc(facts->of, facts->room * sizeof(*facts->of)));
	}
	if (facts_read(attrs, &facts->of[facts->num]))
		facts->num++;
}

static void all_visit(const struct attrs *attrs, void *arg)
{
	netlink_each(attrs->at[RDMA_NLDEV_ATTR_RES_MR], all_entry, arg);
}

static int facts_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct pinion_mr_facts *)a)->key;
	uint32_t y = ((const struct pinion_mr_facts *)b)->key;

	return x < y ? -1 : x > y;
}

struct facts *facts_all(const struct device *device)
{
	const struct question question = {
		.command = RDMA_NLDEV_CMD_RES_MR_GET_RAW,
		.dump = true,
		.num = 1,
		.with = { { RDMA_NLDEV_ATTR_DEV_INDEX, device->index } },
	};
	struct facts *facts = need(calloc(1, sizeof(*facts)));

	netlink_ask(&question, all_visit, facts);
	if (facts->num)
		qsort(facts->of, facts->num, sizeof(*facts->of), facts_compare);
	return facts;
}

void facts_find(const struct facts *facts, uint32_t key, struct row *row)
{
	const struct pinion_mr_facts wanted = { .key = key }, *found = NULL;

	if (facts->num)
		found = bsearch(&wanted, facts->of, facts->num, sizeof(wanted),
				facts_compare);
	if (found)
		row_facts(row, found);
}

void facts_free(struct facts *facts)
{
	free(facts->of);
	free(facts);
}

/* ----------------------------------------------------------------------- queues */

static const struct queue {
	const char *name;
	uint16_t command;
	uint16_t attr;
	const char *number;
} queues[] = {
	{ "qp", RDMA_NLDEV_CMD_RES_QP_GET_RAW, RDMA_NLDEV_ATTR_RES_LQPN,
	  "lqpn" },
	{ "cq", RDMA_NLDEV_CMD_RES_CQ_GET_RAW, RDMA_NLDEV_ATTR_RES_CQN, "cqn" },
	{ "srq", RDMA_NLDEV_CMD_RES_SRQ_GET_RAW, RDMA_NLDEV_ATTR_RES_SRQN,
	  "srqn" },
};

/* @prefix: of the names, if an object has two rings. */
static void row_ring(struct row *row, const char *prefix,
		     const struct pinion_ring_facts *ring)
{
	char name[32];

	if (!ring->entries)
		return;
	snprintf(name, sizeof(name), "%suser_index", prefix);
	row_number(row, name, ring->user_idx);
	snprintf(name, sizeof(name), "%skernel_index", prefix);
	row_number(row, name, ring->kern_idx);
	snprintf(name, sizeof(name), "%sentry_bytes", prefix);
	row_number(row, name, ring->stride);
}

static const char *queue_waits_for(uint32_t flags)
{
	if (flags & PINION_QUEUE_AWAITS_OWN_PAGE)
		return "a page of its own";
	if (flags & PINION_QUEUE_AWAITS_PEER_PAGE)
		return "a page of the peer's";
	return flags & PINION_QUEUE_WAITING ? "a timer" : "nothing";
}

static void row_queue_facts(struct row *row,
			    const struct pinion_queue_facts *facts)
{
	bool qp = facts->kind == PINION_QUEUE_QP;

	row_ring(row, qp ? "sq_" : "", &facts->ring[0]);
	row_ring(row, "rq_", &facts->ring[1]);
	if (qp) {
		row_number(row, "begun", facts->begun);
		row_text(row, "waits_for", queue_waits_for(facts->flags));
		row_number(row, "late", facts->late);
	} else {
		row_text(row, "armed",
			 facts->flags & PINION_QUEUE_ARMED ? "yes" : "no");
	}
	if (facts->kind != PINION_QUEUE_SRQ)
		row_text(row, "broken",
			 facts->flags & PINION_QUEUE_BROKEN ? "yes" : "no");
}

static void queue_visit(const struct attrs *attrs, void *arg)
{
	struct pinion_queue_facts facts;

	raw_read(attrs, &facts, sizeof(facts));
	if (facts.magic == PINION_QUEUE_FACTS_MAGIC)
		row_queue_facts(arg, &facts);
}

bool facts_of_queue(const struct device *device, const char *what,
		    struct row *row)
{
	const struct queue *queue = queues;

	while (strcmp(queue->name, what))
		queue++;
	if (!row_find(row, queue->number))
		return false;

	struct question question = {
		.command = queue->command,
		.num = 2,
		.with = { { RDMA_NLDEV_ATTR_DEV_INDEX, device->index },
			  { queue->attr, row_value(row, queue->number) } },
	};

	/* A queue pair has no port before it is in INIT. */
	if (row_find(row, "port")) {
		question.num = 3;
		question.with[2].attr = RDMA_NLDEV_ATTR_PORT_INDEX;
		question.with[2].value = row_value(row, "port");
	}
	netlink_ask(&question, queue_visit, row);
	return row_find(row, "entry_bytes") || row_find(row, "sq_entry_bytes");
}
