/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Private data that the other side has sent with its request or answer. It is copied,
 * since it is valid only until the event is acknowledged.
 */
#ifndef PINION_RPMA_PRIVATE_DATA_H
#define PINION_RPMA_PRIVATE_DATA_H

#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#include <pinion/librpma.h>

/* *pdata must be empty. It stays empty if there is nothing to copy, or after an error. */
static inline int private_data_copy(struct rpma_conn_private_data *pdata,
				    const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (!param->private_data || !param->private_data_len)
		return 0;
	pdata->ptr = malloc(param->private_data_len);
	if (!pdata->ptr)
		return RPMA_E_NOMEM;
	memcpy(pdata->ptr, param->private_data, param->private_data_len);
	pdata->len = param->private_data_len;
	return 0;
}

static inline void private_data_drop(struct rpma_conn_private_data *pdata)
{
	free(pdata->ptr);
	*pdata = (struct rpma_conn_private_data){};
}

#endif /* PINION_RPMA_PRIVATE_DATA_H */
