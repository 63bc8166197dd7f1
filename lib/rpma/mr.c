// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registers memory: pinned if possible, else on demand. Remote memory is in
 * descriptor.c.
 */
#include <stdlib.h>

#include "log.h"
#include "mr.h"

/*
 * Memory of a file on a DAX filesystem cannot be pinned for long: the kernel says
 * EOPNOTSUPP, and a device with on-demand paging can do without.
 */
static struct ibv_mr *pinned_or_on_demand(struct rpma_peer *peer, void *ptr,
					  size_t size, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(peer->pd, ptr, size, access);

	if (mr || errno != EOPNOTSUPP || !peer->odp)
		return mr;
	return ibv_reg_mr(peer->pd, ptr, size, access | IBV_ACCESS_ON_DEMAND);
}

/*
 * A device refuses the right to flush to persistence with EINVAL if the memory is not
 * persistent. Then register it without that right: it can still be used otherwise, and
 * a peer may flush by READ (see rpma_peer_cfg_new(3rpma)).
 */
static struct ibv_mr *with_rights(struct rpma_peer *peer, void *ptr,
				  size_t size, int access)
{
	struct ibv_mr *mr = pinned_or_on_demand(peer, ptr, size, access);
	int persistent = access & peer->flush_persistent_access;

	if (mr || errno != EINVAL || !persistent)
		return mr;
	mr = pinned_or_on_demand(peer, ptr, size, access & ~persistent);
	if (mr)
		LOG(WARNING,
		    "this memory is not persistent: no native flush of that type");
	return mr;
}

int rpma_mr_reg(struct rpma_peer *peer, void *ptr, size_t size, int usage,
		struct rpma_mr_local **mr_ptr)
{
	struct rpma_mr_local *mr;
	int rc;

	if (!peer || !ptr || !size || !mr_ptr || !usage || (usage & ~USAGE_ALL))
		return RPMA_E_INVAL;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return RPMA_E_NOMEM;
	mr->ibv_mr = with_rights(peer, ptr, size, usage_to_access(peer, usage));
	if (!mr->ibv_mr) {
		rc = PROVIDER_FAILED("ibv_reg_mr()", errno);
		free(mr);
		return rc;
	}
	mr->usage = usage;
	*mr_ptr = mr;
	return 0;
}

int rpma_mr_dereg(struct rpma_mr_local **mr_ptr)
{
	int rc;

	if (!mr_ptr)
		return RPMA_E_INVAL;
	if (!*mr_ptr)
		return 0;
	/* If this fails the memory is still registered, so keep the object. */
	rc = ibv_dereg_mr((*mr_ptr)->ibv_mr);
	if (rc)
		return PROVIDER_FAILED("ibv_dereg_mr()", rc);
	free(*mr_ptr);
	*mr_ptr = NULL;
	return 0;
}

int rpma_mr_get_ptr(const struct rpma_mr_local *mr, void **ptr)
{
	if (!mr || !ptr)
		return RPMA_E_INVAL;
	*ptr = mr->ibv_mr->addr;
	return 0;
}

int rpma_mr_get_size(const struct rpma_mr_local *mr, size_t *size)
{
	if (!mr || !size)
		return RPMA_E_INVAL;
	*size = mr->ibv_mr->length;
	return 0;
}

static int advise_failed(int why)
{
	switch (why) {
	case EOPNOTSUPP:
		return RPMA_E_NOSUPP;
	case EINVAL:
	case EFAULT:
		return RPMA_E_INVAL;
	default:
		return PROVIDER_FAILED("ibv_advise_mr()", why);
	}
}

int rpma_mr_advise(struct rpma_mr_local *mr, size_t offset, size_t len,
		   int advice, uint32_t flags)
{
	/* An sge has a length of 32 bits. Parts of 1 GiB keep pages aligned. */
	const size_t part = 1 << 30;
	int rc;

	if (!mr || !range_in(offset, len, mr->ibv_mr->length))
		return RPMA_E_INVAL;
	do {
		struct ibv_sge sge = {
			.addr = (uintptr_t)mr->ibv_mr->addr + offset,
			.length = len < part ? len : part,
			.lkey = mr->ibv_mr->lkey,
		};

		rc = ibv_advise_mr(mr->ibv_mr->pd, advice, flags, &sge, 1);
		if (rc)
			return advise_failed(rc);
		offset += sge.length;
		len -= sge.length;
	} while (len);
	return 0;
}
