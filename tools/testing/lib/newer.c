// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What older versions of libibverbs lack.
 */
#include "newer.h"

#ifdef HAVE_WR_FLUSH
struct ibv_wc flush(struct end *end, uint32_t rkey, uint64_t addr,
		    size_t length, uint8_t type, uint8_t level)
{
	ibv_wr_start(end->ex);
	end->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(end->ex, rkey, addr, length, type, level);
	CHECK_EQ(ibv_wr_complete(end->ex), 0);
	return await(end->scq);
}
#endif

void no_wr_flush(void)
{
	skip("libibverbs has no ibv_wr_flush");
}

void no_reg_mr_ex(void)
{
	skip("libibverbs has no ibv_reg_mr_ex");
}
