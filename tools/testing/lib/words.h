/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The words of a call, and what they choose from: what earlier calls of the sequence have made.
 * Between the files that make calls (calls.h).
 */
#ifndef PINION_TEST_WORDS_H
#define PINION_TEST_WORDS_H

#include <rdma/pinion-abi.h>

#include "buf.h"
#include "calls.h"
#include "methods.h"

enum {
	CALLS_ARENA = 8 * PAGE,
	CALLS_MADE = 64, /* handles that are remembered */
	CALLS_QUEUES = 8,
};

/* A queue pair whose rings are mapped here. */
struct queue {
	uint32_t handle, qpn;
	struct pinion_create_qp_resp at;
	uint8_t *sq, *rq; /* NULL: none */
	uint32_t sent, posted;
};

/* What the calls of a sequence have made so far. */
struct calls_self {
	int fd;
	unsigned int made;
	struct {
		uint16_t object;
		uint32_t handle;
	} object[CALLS_MADE];
	uint32_t value[VALUES];
	unsigned int queues;
	struct queue queue[CALLS_QUEUES];
};

extern struct calls_self calls_self;
/* All memory that a call may name: CALLS_ARENA bytes, and a page that cannot be written. */
extern uint8_t *calls_arena, *calls_read_only;

/* The words of @call are taken one by one from now on. */
void word_begin(const struct call *call);
/* The next word; 0 if there are no more. */
uint32_t word_take(void);

/* Most words say how in three bits, and something of the rest. */
struct choice {
	uint32_t how, of;
};
struct choice word_choose(void);

/* By the next word. False: leave it out. */
bool word_number(uint64_t usual, uint64_t *n);
bool word_address(uint64_t *n);
bool word_handle(uint16_t object, uint64_t *n);
/* The same of what cannot be left out. */
uint64_t word_some(uint64_t usual);
uint64_t word_some_address(void);
uint32_t word_some_handle(uint16_t object);
/* Of an answer: @usual of enum attr_value. */
uint32_t word_value(unsigned int usual);

/* A handle is there, or no more. */
void made_add(uint16_t object, uint32_t which);
void made_drop(uint16_t object, uint32_t which);

/*
 * Room for an answer, of which @length bytes are told to the kernel; @what of enum attr_value.
 * And after the call: nothing was written behind it.
 */
uint8_t *calls_answer_begin(uint16_t id, size_t length, uint64_t what);
void calls_answers_check(void);

/* Objects of DEVX, in the order of their VALUE_DEVX. */
enum devx_object {
	DEVX_KEY,
	DEVX_CQ,
	DEVX_QP,
	DEVX_RMP,
	DEVX_PD,
	DEVX_COUNTER,
	DEVX_OBJECTS,
};
/* Writes a command of at most 1 KiB, and returns its length. */
size_t calls_devx_command(uint8_t *in, uint16_t *opcode);
/* What such a command makes; DEVX_OBJECTS: nothing. */
enum devx_object calls_devx_makes(uint16_t opcode);

/* Calls that are no methods of methods.h. */
struct other_call {
	const char *name;
	bool (*call)(void);
};
extern const struct other_call calls_others[];
extern const size_t calls_others_count;

#endif /* PINION_TEST_WORDS_H */
