/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copies scatter lists of kernel consumers into requests.
 */
#ifndef PINION_PATH_SGE_H
#define PINION_PATH_SGE_H

#include <rdma/ib_verbs.h>
#include <rdma/pinion-abi.h>

/* Write the list to @behind, the end of a request's header. Return: @num. */
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
