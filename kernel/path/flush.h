/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * FLUSH: when it is answered, earlier writes to its range are visible to all CPUs, or persistent.
 */
#ifndef PINION_PATH_FLUSH_H
#define PINION_PATH_FLUSH_H

#include "respond.h"
#include "target.h"

/*
 * Perform a FLUSH. @qp->resp.lock is held. PINION_PEER_PAGE: a page is missing; the message is
 * to be tried again, and goes on with that page.
 */
enum pinion_verdict pinion_flush(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg);

#endif
