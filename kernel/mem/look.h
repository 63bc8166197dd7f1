/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reads the state of regions and keys, and where their memory is, for diagnostics. Not for the data
 * path.
 */
#ifndef PINION_MEM_LOOK_H
#define PINION_MEM_LOOK_H

#include <linux/types.h>

struct ib_mr;
struct pinion_key;
struct pinion_keys;
struct pinion_mr_facts;
struct pinion_odp;
struct pinion_pass;

/* Fill @facts. The caller keeps @ibmr, which may change meanwhile. Sleeps; no gate is held. */
void pinion_mr_look(struct ib_mr *ibmr, struct pinion_mr_facts *facts);

/* The state of a key when it was read. */
struct pinion_key_view {
	u32 generation;
	u8 shift;			/* log2 of a block; 0: it has no blocks of one length */
	u64 base;
	u64 length;
};

/* Return: 0, or -ENOENT: no valid key has this value. Sleeps; no gate is held. */
int pinion_key_look(struct pinion_keys *keys, u32 value, struct pinion_key_view *view);

/* Bytes of a region that are contiguous in memory. */
struct pinion_run {
	u64 offset;			/* of the first, in the region */
	u64 length;
	u64 addr;			/* a DMA address */
	bool writable;
};

/*
 * Find the run at @offset, or the next behind it if there is no memory there. A long run is
 * returned in parts. Return: 0, or -ENOENT: there is no more, or no such key. Sleeps; no gate is
 * held.
 */
int pinion_key_look_run(struct pinion_keys *keys, u32 value, u64 offset, struct pinion_run *run);

/*
 * Enter the gates of key @value, whatever its domain. The caller must call pinion_key_leave().
 * Return: 0, or -ENOENT as above. Sleeps; no gate is held. pass->offset means nothing.
 */
int pinion_look_enter(struct pinion_keys *keys, u32 value, struct pinion_pass *pass);

/* ---------------------------------------------- between look.c and odp_look.c */

/*
 * As pinion_key_look_run(), for one child of an on-demand region, inside the gate. Return -EAGAIN
 * if there is no memory before @run->offset: continue there.
 */
int pinion_odp_look_run(struct pinion_odp *odp, u64 offset, struct pinion_run *run);

/* Sums over all children. The caller keeps @odp. Sleeps; no gate is held. */
void pinion_odp_look(struct pinion_odp *odp, u64 *present, u64 *bytes);

#endif
