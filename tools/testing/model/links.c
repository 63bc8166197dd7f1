// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Links of the model: queue pairs that are connected, renewed after errors, and replaced by others
 * in other domains.
 */
#include <unistd.h>

#include "model.h"
#include "newer.h"

struct link links[LINKS];
int link_pds[LINKS][2];

static void make(int link)
{
	struct qp_cfg cfg[2];
	int i;

	for (i = 0; i < 2; i++)
		cfg[i] = (struct qp_cfg){
			.pd = pds[link_pds[link][i]],
			.inline_data = INLINE_MOST,
			.sge = SGES,
			.access = IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_ATOMIC |
				  IBV_ACCESS_FLUSH_GLOBAL,
#ifdef HAVE_WR_FLUSH
			.ops = dev.pinion ? 0 : IBV_QP_EX_WITH_FLUSH,
#endif
		};
	link_make2(&links[link], &cfg[0], &cfg[1]);
}

void link_set_up(void)
{
	int i;

	for (i = 0; i < LINKS; i++) {
		link_pds[i][0] = i & 1;
		link_pds[i][1] = i > 1 ? 0 : i;
		make(i);
	}
}

void link_again(int link)
{
	window_leave(link);
	if (other_lacks(LACK_RESET)) {
		CHECK_EQ(end_set_state(&links[link].a, IBV_QPS_ERR), 0);
		CHECK_EQ(end_set_state(&links[link].b, IBV_QPS_ERR), 0);
		usleep(2000);
	}
	link_renew(&links[link]);
}

/* The first two stay: by them the model reads memory. */
void call_relink(const uint32_t *n)
{
	int link = LINKS - 1, a = n[0] % PDS, b = n[1] % PDS;

	if (!pds[a] || !pds[b])
		return;
	tell("link %d: other queue pairs, in domains %d and %d", link, a, b);
	window_leave(link);
	link_free(&links[link]);
	link_pds[link][0] = a;
	link_pds[link][1] = b;
	make(link);
	window_move(WINDOWS - 1, b);
	counts->done[RELINK]++;
	counts->foreign += a >= LASTING || b >= LASTING;
}
