/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages between box-hosts and the box-host of each host, by which hosts on one network start and
 * end together. A datagram of a socket is one message. The types are those of frame.h.
 */
#ifndef BOX_PEERS_H
#define BOX_PEERS_H

#include <stdint.h>

struct peers_message {
	int32_t type; /* FRAME_UP, FRAME_LISTENS, FRAME_EXIT; FRAME_GO, FRAME_END */
	int32_t value; /* FRAME_EXIT: exit status of the command */
};

#endif /* BOX_PEERS_H */
