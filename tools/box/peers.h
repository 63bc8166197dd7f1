/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hosts on one network begin and end together. Between box-hosts, which knows all of them, and
 * box-host of each go messages of one socket, which are frames of frame.h less their data.
 */
#ifndef BOX_PEERS_H
#define BOX_PEERS_H

#include <stdint.h>

struct peers_message {
	int32_t type; /* FRAME_UP, FRAME_LISTENS, FRAME_EXIT; FRAME_GO, FRAME_END */
	int32_t value; /* of FRAME_EXIT */
};

#endif /* BOX_PEERS_H */
