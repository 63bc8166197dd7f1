/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * replay: what a recording says of each call, where its memory and its objects are here, and
 * what came out differently. Addresses and numbers of the recording are those of its processes
 * and mean nothing here but who is who.
 */
#ifndef PINIONCTL_REPLAY_H
#define PINIONCTL_REPLAY_H

#include <infiniband/verbs.h>

#include "row.h"

/* A line of the file. */
struct call {
	unsigned long line;
	uint64_t pid;
	const char *name;
	struct row row;
};

#define MAX_SGES 300

struct segment {
	uint64_t addr;
	uint32_t length;
	uint32_t key;
};

uint64_t call_value(const struct call *call, const char *name);
/* Of its sge=, at most MAX_SGES. */
int call_segments(const struct call *call, struct segment *segments);
uint64_t call_length(const struct call *call);

/* ------------------------------------------------------------------- what differs */

/* It could not be done here, and why. */
void replay_left(const struct call *call, const char *why);
/* @recorded and @here: errnos, 0 for what went well. */
void replay_compare(const struct call *call, int recorded, int here);
void replay_differs(const struct call *call, const char *recorded,
		    const char *here);

/* ------------------------------------------------------------------------ memory */

/* The first time through: what there must be. */
void memory_note(const struct call *call);
/* Then, once. */
void memory_make(void);
/* Where the address of a recorded process is; the address itself if it has nothing there. */
void *memory_at(uint64_t pid, uint64_t addr);
/* Of whom nothing was recorded but that he was written to or read: where, and how much. */
bool memory_of_stranger(uint32_t rkey, uint64_t *addr, uint64_t *length);
/* NULL where there is no room for so much. */
void *memory_more(uint64_t length, uint64_t congruent);

/* ----------------------------------------------------------------------- objects */

enum kind {
	KIND_PD = 1,
	KIND_CQ,
	KIND_SRQ,
	KIND_QP,
	KIND_MR,
	KIND_MW,
	KIND_AH,
	KIND_QPN, /* by its number, of a process or (0) of any */
	KIND_LKEY,
	KIND_RKEY,
};

/* By what a process of the recording called it. */
void *object_find(enum kind kind, uint64_t pid, uint64_t id);
void object_set(enum kind kind, uint64_t pid, uint64_t id, void *object);

/* What a key is of; it is known beyond the end of its region, as it was to the program. */
struct region {
	uint64_t pid;
	uint64_t addr; /* its first byte's, as requests of the recording name it */
	uint64_t base; /* and those of here */
	uint32_t lkey, rkey; /* of here */
	struct ibv_mr *mr; /* NULL: a window, or over */
};

struct window {
	struct ibv_mw *mw;
	/* What the key was first, there and here: programs change it. */
	uint32_t recorded, here;
};

struct completed;

struct cq {
	struct ibv_cq *cq;
	struct completed *completed; /* here, and not looked for yet */
};

struct queue {
	uint64_t pid;
	uint32_t qpn; /* of the recording */
	enum ibv_qp_type type;
	struct ibv_qp *qp;
	uint32_t qkey, sq_psn, rq_psn;
	/* Its peer was not recorded: one that is made for it, and what connects it. */
	struct ibv_qp *stranger;
	struct ibv_qp_attr attr;
	bool connected;
	bool late; /* a completion did not come; others are not waited for long */
};

struct replay_device {
	struct ibv_context *context;
	struct ibv_pd *pd; /* of strangers */
	struct ibv_cq *cq;
	union ibv_gid gid;
	int gid_index;
	struct ibv_port_attr port;
};

extern struct replay_device replay_device;

/* Calls of one kind by their names; the last has none. */
struct replay_call {
	const char *name;
	void (*run)(const struct call *call);
};

/* Run @call if it is among @calls. Return: whether it is. */
bool replay_run(const struct replay_call *calls, const struct call *call);

/* Each does one call of its kind; false: it knows none of that name. */
bool replay_object(const struct call *call);
bool replay_queue(const struct call *call);
bool replay_post(const struct call *call);

/* Who answers for a peer that was not recorded. NULL: none could be made. */
struct ibv_qp *stranger_new(struct queue *queue);
void stranger_connect(struct queue *queue);
/* He can take a message of that length; he sends one. */
void stranger_receive(struct queue *queue, uint64_t length);
void stranger_send(struct queue *queue, const struct call *call);
/* His region by this key, or NULL. */
struct region *stranger_region(uint32_t rkey);

#endif
