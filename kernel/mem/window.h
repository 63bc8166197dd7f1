/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory windows: keys that open a part of a region to remote access.
 */
#ifndef PINION_MEM_WINDOW_H
#define PINION_MEM_WINDOW_H

#include "mr.h"

struct pinion_wqe_bind;

/*
 * Bind, rebind or (length 0) unbind as @bind asks, on behalf of QP @qpn of @pd.
 * Return: 0 or an enum pinion_syndrome; the window is unchanged then.
 */
int pinion_window_bind(struct pinion_keys *keys, struct ib_pd *pd, u32 qpn,
		       const struct pinion_wqe_bind *bind);

#endif
