/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory windows: keys for remote access to a part of a region.
 */
#ifndef PINION_MEM_WINDOW_H
#define PINION_MEM_WINDOW_H

#include "mr.h"

struct pinion_wqe_bind;

/*
 * Bind, rebind or (length 0) unbind a window as @bind says, for QP @qpn in @pd. Sleeps; no gate is
 * held. Return: 0; or a syndrome, and the window is unchanged.
 */
enum pinion_syndrome pinion_window_bind(struct pinion_keys *keys, struct ib_pd *pd, u32 qpn,
					const struct pinion_wqe_bind *bind);

#endif
