// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The settings of a peer and their descriptor. One object may be used by several
 * threads.
 */
#include <stdlib.h>

#include "peer_cfg.h"

enum { DESCRIPTOR_SIZE = 1 };

int rpma_peer_cfg_new(struct rpma_peer_cfg **pcfg_ptr)
{
	struct rpma_peer_cfg *pcfg;

	if (!pcfg_ptr)
		return RPMA_E_INVAL;
	pcfg = calloc(1, sizeof(*pcfg));
	if (!pcfg)
		return RPMA_E_NOMEM;
	*pcfg_ptr = pcfg;
	return 0;
}

int rpma_peer_cfg_delete(struct rpma_peer_cfg **pcfg_ptr)
{
	if (!pcfg_ptr)
		return RPMA_E_INVAL;
	free(*pcfg_ptr);
	*pcfg_ptr = NULL;
	return 0;
}

int rpma_peer_cfg_set_direct_write_to_pmem(struct rpma_peer_cfg *pcfg,
					   bool supported)
{
	if (!pcfg)
		return RPMA_E_INVAL;
	atomic_store(&pcfg->direct_write_to_pmem, supported);
	return 0;
}

int rpma_peer_cfg_get_direct_write_to_pmem(const struct rpma_peer_cfg *pcfg,
					   bool *supported)
{
	if (!pcfg || !supported)
		return RPMA_E_INVAL;
	*supported = atomic_load(&pcfg->direct_write_to_pmem);
	return 0;
}

int rpma_peer_cfg_get_descriptor(const struct rpma_peer_cfg *pcfg, void *desc)
{
	if (!pcfg || !desc)
		return RPMA_E_INVAL;
	*(uint8_t *)desc = atomic_load(&pcfg->direct_write_to_pmem);
	return 0;
}

int rpma_peer_cfg_get_descriptor_size(const struct rpma_peer_cfg *pcfg,
				      size_t *desc_size)
{
	if (!pcfg || !desc_size)
		return RPMA_E_INVAL;
	*desc_size = DESCRIPTOR_SIZE;
	return 0;
}

int rpma_peer_cfg_from_descriptor(const void *desc, size_t desc_size,
				  struct rpma_peer_cfg **pcfg_ptr)
{
	int rc;

	if (!desc || desc_size < DESCRIPTOR_SIZE)
		return RPMA_E_INVAL;
	rc = rpma_peer_cfg_new(pcfg_ptr);
	if (!rc)
		atomic_store(&(*pcfg_ptr)->direct_write_to_pmem,
			     *(const uint8_t *)desc != 0);
	return rc;
}
