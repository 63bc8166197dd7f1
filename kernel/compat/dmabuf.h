/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The name of the op that tells importers of a dma-buf that its memory moves.
 */
#ifndef PINION_COMPAT_DMABUF_H
#define PINION_COMPAT_DMABUF_H

#include <linux/dma-buf.h>

#ifdef PINION_HAVE_INVALIDATE_MAPPINGS
#define pinion_on_move invalidate_mappings
#else
#define pinion_on_move move_notify
#endif

#endif
