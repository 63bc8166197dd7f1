/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What older versions of libibverbs lack. The Makefile finds out what there is. A test of it is
 * listed as TEST(IF_WR_FLUSH(function), ...): without it, a test that skips takes its place.
 */
#ifndef PINION_TEST_NEWER_H
#define PINION_TEST_NEWER_H

#include "link.h"

#ifdef HAVE_WR_FLUSH
#define IF_WR_FLUSH(function) function
/* A signaled FLUSH, and its completion. */
struct ibv_wc flush(struct end *end, uint32_t rkey, uint64_t addr,
		    size_t length, uint8_t type, uint8_t level);
#else
#define IF_WR_FLUSH(function) no_wr_flush
/* The kernel's numbers: a right of a region can be asked for all the same. */
#define IBV_ACCESS_FLUSH_GLOBAL (1 << 8)
#define IBV_ACCESS_FLUSH_PERSISTENT (1 << 9)
#endif

#ifdef HAVE_REG_MR_EX
#define IF_REG_MR_EX(function) function
#else
#define IF_REG_MR_EX(function) no_reg_mr_ex
#endif

/* These skip. */
void no_wr_flush(void) __attribute__((noreturn));
void no_reg_mr_ex(void) __attribute__((noreturn));

#endif /* PINION_TEST_NEWER_H */
