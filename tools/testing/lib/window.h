/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory windows: what to bind, and the requests that do it.
 */
#ifndef PINION_TEST_WINDOW_H
#define PINION_TEST_WINDOW_H

#include "link.h"

enum {
	REMOTE_ALL = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC,
	BINDABLE = ALL_ACCESS | IBV_ACCESS_MW_BIND,
};

struct ibv_mw *window_new(enum ibv_mw_type type);
struct ibv_mw_bind_info window_part(struct region *r, uint64_t at,
				    uint64_t length, int access);
/* Bind a window of either type; one of type 2 gets the next key. */
struct ibv_wc window_bind(struct end *end, struct ibv_mw *mw,
			  struct ibv_mw_bind_info info);
/* Bind a window of type 2 with the key @rkey. */
struct ibv_wc window_bind_as(struct end *end, struct ibv_mw *mw, uint32_t rkey,
			     struct ibv_mw_bind_info info);
struct ibv_wc window_invalidate(struct end *end, uint32_t rkey);

/* @r with the key of the window. */
struct region window_seen(struct region *r, struct ibv_mw *mw);

#endif /* PINION_TEST_WINDOW_H */
