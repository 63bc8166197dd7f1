/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Fast registration, for kernel consumers: a work request (IB_WR_REG_MR) sets the memory of a
 * region.
 */
#ifndef PINION_MEM_FASTREG_H
#define PINION_MEM_FASTREG_H

#include "mr.h"

struct pinion_wqe_reg;

#define PINION_MAX_FASTREG_PAGES 512

struct ib_mr *pinion_alloc_mr(struct pinion_keys *keys, struct ib_pd *pd,
			      enum ib_mr_type type, u32 max_num_sg);
int pinion_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int num_sg,
		     unsigned int *sg_offset);

/* Perform IB_WR_REG_MR: the list mapped last becomes the key's memory. Return: 0 or a syndrome. */
enum pinion_syndrome pinion_fastreg(struct pinion_keys *keys, struct ib_pd *pd,
				    const struct pinion_wqe_reg *reg);

#endif
