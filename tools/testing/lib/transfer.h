/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One message of any kind between scattered pieces of two buffers. Afterwards the data is
 * compared with the model.
 */
#ifndef PINION_TEST_TRANSFER_H
#define PINION_TEST_TRANSFER_H

#include "link.h"

struct transfer {
	enum ibv_wr_opcode opcode;
	uint32_t length;
	int sges, recv_sges; /* 0: one */
	bool inline_data, builder, solicited;
	uint32_t spare; /* extra bytes of the receive buffer */
};

/* Opcodes that move data to or from the other side. */
enum { TRANSFER_OPCODES = 5 };
extern const enum ibv_wr_opcode transfer_opcodes[TRANSFER_OPCODES];
/* A transfer with one to four pieces on either side. */
struct transfer transfer_in_pieces(enum ibv_wr_opcode opcode, uint32_t length);

enum { MAX_PIECES = 64 };

/* Scattered pieces of a region, which do not overlap. */
struct pieces {
	struct ibv_sge sge[MAX_PIECES];
	uint64_t at[MAX_PIECES];
	int count;
};

void pieces_cut(struct pieces *pieces, const struct region *region,
		uint32_t length, int count);
/* Copy the pieces from the model to @to; copy @from into the pieces of the model. */
void pieces_gather(const struct pieces *pieces, const struct region *region,
		   uint8_t *to);
void pieces_scatter(const struct pieces *pieces, const struct region *region,
		    const uint8_t *from, uint32_t length);

/*
 * Move data from link->a to link->b, or for a read the other way, and check it. Both
 * regions must have room for the pieces and the gaps between them: twice the length and a
 * page.
 */
void transfer(struct link *link, struct region *a, struct region *b,
	      const struct transfer *t);
bool takes_receive(enum ibv_wr_opcode opcode);
const char *opcode_name(enum ibv_wr_opcode opcode);

#endif /* PINION_TEST_TRANSFER_H */
