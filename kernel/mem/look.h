/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a region is and where its memory is, for who looks on: never for the data path.
 */
#ifndef PINION_MEM_LOOK_H
#define PINION_MEM_LOOK_H

#include <linux/types.h>

struct ib_mr;
struct pinion_keys;
struct pinion_mr_facts;
struct pinion_odp;

/* All there is to tell. @ibmr does not end meanwhile, but may change. Sleeps; in no gate. */
void pinion_mr_look(struct ib_mr *ibmr, struct pinion_mr_facts *facts);

/* What a key is of, as it was a moment ago. */
struct pinion_key_view {
	u32 generation;
	u8 shift;			/* log2 of a block; 0: there are none */
	u64 base;
	u64 length;
};

/* Return: 0, or -ENOENT: no key has this number and means something. Sleeps; in no gate. */
int pinion_key_look(struct pinion_keys *keys, u32 value, struct pinion_key_view *view);

/* Bytes that follow each other in memory as they do in the region. */
struct pinion_run {
	u64 offset;			/* of the first, in the region */
	u64 length;
	u64 addr;			/* a DMA address */
	bool writable;
};

/*
 * The run that @offset is in, from there on, or the next behind it; a part of it, if it is
 * long. Return: 0, or -ENOENT: there is no more, or no such key. Sleeps; in no gate.
 */
int pinion_key_look_run(struct pinion_keys *keys, u32 value, u64 offset, struct pinion_run *run);

/* ---------------------------------------------- between look.c and odp_look.c */

/*
 * Likewise in one child, inside the gate. -EAGAIN: there is nothing up to @run->offset, where
 * to go on.
 */
int pinion_odp_look_run(struct pinion_odp *odp, u64 offset, struct pinion_run *run);

/* Sums over all children. Something keeps @odp; in no gate. Sleeps. */
void pinion_odp_look(struct pinion_odp *odp, u64 *present, u64 *bytes);

#endif
