/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What headers of older kernels lack. */
#ifndef PINION_FUZZ_IB_USER_VERBS_H
#define PINION_FUZZ_IB_USER_VERBS_H

#include_next <rdma/ib_user_verbs.h>

#define IB_UVERBS_WC_FLUSH 8
#define IB_UVERBS_WC_ATOMIC_WRITE 9

#endif
