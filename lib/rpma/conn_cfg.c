// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Settings of a connection, used by queues.c. Several threads may set and get them.
 */
#include <stdlib.h>
#include <string.h>

#include "conn_cfg.h"

const struct rpma_conn_cfg conn_cfg_default = {
	.timeout_ms = RPMA_DEFAULT_TIMEOUT_MS,
	.cq_size = 10,
	.sq_size = 10,
	.rq_size = 10,
};

int rpma_conn_cfg_new(struct rpma_conn_cfg **cfg_ptr)
{
	struct rpma_conn_cfg *cfg;

	if (!cfg_ptr)
		return RPMA_E_INVAL;
	cfg = malloc(sizeof(*cfg));
	if (!cfg)
		return RPMA_E_NOMEM;
	memcpy(cfg, &conn_cfg_default, sizeof(*cfg));
	*cfg_ptr = cfg;
	return 0;
}

int rpma_conn_cfg_delete(struct rpma_conn_cfg **cfg_ptr)
{
	if (!cfg_ptr)
		return RPMA_E_INVAL;
	free(*cfg_ptr);
	*cfg_ptr = NULL;
	return 0;
}

#define SETTING(name, type, field, valid)                                   \
	int rpma_conn_cfg_set_##name(struct rpma_conn_cfg *cfg, type value) \
	{                                                                   \
		if (!cfg || !(valid))                                       \
			return RPMA_E_INVAL;                                \
		atomic_store(&cfg->field, value);                           \
		return 0;                                                   \
	}                                                                   \
	int rpma_conn_cfg_get_##name(const struct rpma_conn_cfg *cfg,       \
				     type *value)                           \
	{                                                                   \
		if (!cfg || !value)                                         \
			return RPMA_E_INVAL;                                \
		*value = atomic_load(&cfg->field);                          \
		return 0;                                                   \
	}

SETTING(timeout, int, timeout_ms, value >= 0)
SETTING(cq_size, uint32_t, cq_size, true)
SETTING(rcq_size, uint32_t, rcq_size, true)
SETTING(sq_size, uint32_t, sq_size, true)
SETTING(rq_size, uint32_t, rq_size, true)
SETTING(compl_channel, bool, shared_channel, true)
SETTING(srq, struct rpma_srq *, srq, true)
