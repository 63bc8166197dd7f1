// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Descriptors of memory, which are sent to peers: 21 bytes, little endian, of any
 * alignment, the same as librpma's. Those that are read are not trusted.
 *
 *	0 address	8 length	16 rkey	20 usage
 *
 * A reader ignores what follows, so that later versions can add fields.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mr.h"

struct descriptor {
	uint64_t address;
	uint64_t length;
	uint32_t rkey;
	uint8_t usage;
} __attribute__((packed));

_Static_assert(sizeof(struct descriptor) == 21, "the wire format");

int rpma_mr_get_descriptor_size(const struct rpma_mr_local *mr,
				size_t *desc_size)
{
	if (!mr || !desc_size)
		return RPMA_E_INVAL;
	*desc_size = sizeof(struct descriptor);
	return 0;
}

int rpma_mr_get_descriptor(const struct rpma_mr_local *mr, void *desc)
{
	struct descriptor wire;

	if (!mr || !desc)
		return RPMA_E_INVAL;
	wire.address = htole64((uintptr_t)mr->ibv_mr->addr);
	wire.length = htole64(mr->ibv_mr->length);
	wire.rkey = htole32(mr->ibv_mr->rkey);
	wire.usage = mr->usage;
	memcpy(desc, &wire, sizeof(wire));
	return 0;
}

int rpma_mr_remote_from_descriptor(const void *desc, size_t desc_size,
				   struct rpma_mr_remote **mr_ptr)
{
	struct rpma_mr_remote *mr;
	struct descriptor wire;

	if (!desc || !mr_ptr || desc_size < sizeof(wire))
		return RPMA_E_INVAL;
	memcpy(&wire, desc, sizeof(wire));
	if (!wire.usage) {
		LOG(ERROR, "a descriptor of memory that is for nothing");
		return RPMA_E_INVAL;
	}
	mr = malloc(sizeof(*mr));
	if (!mr)
		return RPMA_E_NOMEM;
	mr->raddr = le64toh(wire.address);
	mr->size = le64toh(wire.length);
	mr->rkey = le32toh(wire.rkey);
	mr->usage = wire.usage;
	*mr_ptr = mr;
	return 0;
}

int rpma_mr_remote_get_size(const struct rpma_mr_remote *mr, size_t *size)
{
	if (!mr || !size)
		return RPMA_E_INVAL;
	*size = mr->size;
	return 0;
}

int rpma_mr_remote_get_flush_type(const struct rpma_mr_remote *mr,
				  int *flush_type)
{
	if (!mr || !flush_type)
		return RPMA_E_INVAL;
	*flush_type = mr->usage & USAGE_FLUSH;
	return 0;
}

int rpma_mr_remote_delete(struct rpma_mr_remote **mr_ptr)
{
	if (!mr_ptr)
		return RPMA_E_INVAL;
	free(*mr_ptr);
	*mr_ptr = NULL;
	return 0;
}
