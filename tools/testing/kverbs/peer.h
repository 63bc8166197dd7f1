/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The file of peer.c, as its users in user space see it, too.
 */
#ifndef PINION_KVERBS_PEER_H
#define PINION_KVERBS_PEER_H

enum {
	PEER_DATA = 4096,	/* offset of the data */
	PEER_LENGTH = 1000,	/* of messages */
	PEER_PSN = 4711,	/* of the first packet, in both directions */
};

#endif /* PINION_KVERBS_PEER_H */
