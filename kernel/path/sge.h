/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Scatter lists of kernel consumers, as requests have them.
 */
#ifndef PINION_PATH_SGE_H
#define PINION_PATH_SGE_H

#include <rdma/ib_verbs.h>
#include <rdma/pinion-abi.h>

/* Write the list behind the head of a request. Return: @num. */
static inline u32 pinion_sges_put(void *behind, const struct ib_sge *sges, u32 num)
{
	struct pinion_sge *to = behind;
	u32 i;

	for (i = 0; i < num; i++)
		to[i] = (struct pinion_sge){
			.addr = sges[i].addr,
			.length = sges[i].length,
			.lkey = sges[i].lkey,
		};
	return num;
}

#endif
