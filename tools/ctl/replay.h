/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * replay: calls of a recording, the memory and objects that replace the recorded ones, and
 * reports of differences. Addresses and numbers in a recording are those of its processes; here
 * they only identify objects.
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

/* ------------------------------------------------------------------- differences */

/* Count a call that cannot be repeated here. */
void replay_left(void);
/* @recorded and @here: errnos; 0 for success. */
void replay_compare(const struct call *call, int recorded, int here);
void replay_differs(const struct call *call, const char *recorded,
		    const char *here);

/* ------------------------------------------------------------------------ memory */

/* First pass: note the memory that @call needs. */
void memory_note(const struct call *call);
/* Called once after that: allocate all memory. */
void memory_make(void);
/* The memory for a recorded process's address; the address itself if there is none. */
void *memory_at(uint64_t pid, uint64_t addr);
/* The memory of a peer that was not recorded, as far as recorded requests name it. */
bool memory_of_stranger(uint32_t rkey, uint64_t *addr, uint64_t *length);
/* Allocate more memory; NULL if there is not enough. */
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
	KIND_QPN, /* a queue pair by its number; pid 0: of any process */
	KIND_LKEY,
	KIND_RKEY,
};

/* Objects by the id that they had in the recorded process. */
void *object_find(enum kind kind, uint64_t pid, uint64_t id);
void object_set(enum kind kind, uint64_t pid, uint64_t id, void *object);

/* The memory of a key. Kept after deregistration, as programs may still use the key. */
struct region {
	uint64_t pid;
	uint64_t addr; /* of its first byte in recorded requests */
	uint64_t base; /* and in requests here */
	uint32_t lkey, rkey; /* here */
	struct ibv_mr *mr; /* NULL: a window, or deregistered */
};

struct window {
	struct ibv_mw *mw;
	/* The first key, in the recording and here: programs change the tag. */
	uint32_t recorded, here;
};

struct completed;

struct cq {
	struct ibv_cq *cq;
	struct completed *completed; /* polled, not matched yet */
};

struct queue {
	uint64_t pid;
	uint32_t qpn; /* in the recording */
	enum ibv_qp_type type;
	struct ibv_qp *qp;
	uint32_t qkey, sq_psn, rq_psn;
	/* If its peer was not recorded: a replacement, and the attributes to connect it. */
	struct ibv_qp *stranger;
	struct ibv_qp_attr attr;
	bool connected;
	bool late; /* a completion did not come: do not wait long for others */
	bool all_signaled;
	struct sent *sent, *sent_last; /* replay_sent.c */
};

struct replay_device {
	struct ibv_context *context;
	struct ibv_pd *pd; /* of the peers that replace unrecorded ones */
	struct ibv_cq *cq;
	union ibv_gid gid;
	int gid_index;
	struct ibv_port_attr port;
};

extern struct replay_device replay_device;

/* Calls of one kind by name. The last entry has no name. */
struct replay_call {
	const char *name;
	void (*run)(const struct call *call);
};

/* Run @call if it is among @calls. Return: whether it is. */
bool replay_run(const struct replay_call *calls, const struct call *call);

/* Repeat a call of one kind. False: there is none of that name. */
bool replay_object(const struct call *call);
bool replay_queue(const struct call *call);
bool replay_post(const struct call *call);

/* The recorded program has posted a request; @left: it could not be repeated here. */
void sent_add(struct queue *queue, const struct call *call, bool left);
/* Is this the completion of one that could not be repeated? Called for each, in order. */
bool sent_was_left(struct queue *queue, const struct call *call);
void sent_forget(struct queue *queue);

/* A stranger replaces a peer that was not recorded. NULL: none could be made. */
struct ibv_qp *stranger_new(struct queue *queue);
void stranger_connect(struct queue *queue);
/* Have the stranger post a receive; have it send. */
void stranger_receive(struct queue *queue, uint64_t length);
void stranger_send(struct queue *queue, const struct call *call);
/* The stranger's region that replaces the one with this key, or NULL. */
struct region *stranger_region(uint32_t rkey);

#endif
