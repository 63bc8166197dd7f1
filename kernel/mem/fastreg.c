// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration. map_mr_sg fills a second table, which is swapped with the one in use when the
 * work request is performed.
 */
#include <linux/slab.h>
#include <rdma/pinion-abi.h>

#include "fastreg.h"
#include "mtt.h"
#include "trace.h"

/* A table for @max_num_sg pages of equal size, or for pieces of any length (lists with gaps). */
static struct pinion_mtt *fastreg_new_list(enum ib_mr_type type, u32 max_num_sg)
{
	if (type == IB_MR_TYPE_SG_GAPS)
		return pinion_mtt_alloc_pieces(max_num_sg);
	return pinion_mtt_alloc(max_num_sg, PAGE_SHIFT, 0);
}

/**
 * pinion_alloc_mr - make a region for fast registration, without memory
 * @keys: the device's keys
 * @pd: a kernel protection domain
 * @type: IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS
 * @max_num_sg: the number of pages, or pieces, it can have
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_alloc_mr(struct pinion_keys *keys, struct ib_pd *pd,
			      enum ib_mr_type type, u32 max_num_sg)
{
	u64 begun = trace_mr_reg_enabled() ? ktime_get_ns() : 0;
	struct pinion_fastreg *fast;
	struct pinion_key *key;
	int err = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > PINION_MAX_FASTREG_PAGES)
		return ERR_PTR(-EINVAL);
	fast = kzalloc(sizeof(*fast), GFP_KERNEL);
	if (!fast)
		return ERR_PTR(-ENOMEM);
	fast->mr.fast = true;
	fast->max_pages = max_num_sg;
	fast->pages = fastreg_new_list(type, max_num_sg);
	if (!fast->pages)
		goto err_free;
	key = pinion_key_alloc(keys, PINION_KEY_REGION, GFP_KERNEL);
	if (IS_ERR(key)) {
		err = PTR_ERR(key);
		goto err_free_pages;
	}
	fast->mr.backing.mtt = fastreg_new_list(type, max_num_sg);
	if (!fast->mr.backing.mtt)
		goto err_kill;
	key->mtt = fast->mr.backing.mtt;
	key->pd = pd;
	key->invalidatable = true;
	key->fastreg = fast;
	fast->mr.key = key;
	pinion_key_publish(key);
	fast->mr.ibmr.lkey = key->value;
	fast->mr.ibmr.rkey = key->value;
	trace_mr_reg(key->value, 0, 0, 0, pinion_since(begun));
	return &fast->mr.ibmr;

err_kill:
	pinion_key_kill(key);
err_free_pages:
	pinion_mtt_free(fast->pages);
err_free:
	kfree(fast);
	return ERR_PTR(err);
}

static int fastreg_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct pinion_fastreg *fast = to_pinion_fastreg(ibmr);

	if (fast->num_pages == fast->max_pages)
		return -ENOMEM;
	*pinion_mtt_slot(fast->pages, fast->num_pages++) = addr;
	return 0;
}

/* Add each entry as one piece. Return: the number of entries that fit. */
static int fastreg_map_pieces(struct pinion_fastreg *fast, struct scatterlist *sgl, int num_sg,
			      unsigned int offset)
{
	struct scatterlist *sg;
	int i;

	if (num_sg <= 0 || offset > sg_dma_len(sgl))
		return -EINVAL;
	fast->mr.ibmr.iova = sg_dma_address(sgl) + offset;
	fast->mr.ibmr.length = 0;
	for_each_sg(sgl, sg, num_sg, i) {
		if (fast->num_pages == fast->max_pages)
			break;
		if (sg_dma_len(sg) > offset)
			pinion_mtt_set_piece(fast->pages, fast->num_pages++,
					     sg_dma_address(sg) + offset,
					     sg_dma_len(sg) - offset);
		fast->mr.ibmr.length += sg_dma_len(sg) - offset;
		offset = 0;
	}
	return i;
}

/**
 * pinion_map_mr_sg - set the memory for the next REG_MR
 * @ibmr: the region
 * @sg: DMA mapped
 * @num_sg: entries
 * @sg_offset: bytes to skip in the first entry; may be NULL
 *
 * Return: how many entries fit, or a negative errno.
 */
int pinion_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int num_sg,
		     unsigned int *sg_offset)
{
	struct pinion_fastreg *fast = to_pinion_fastreg(ibmr);

	fast->num_pages = 0;
	fast->fresh = true;
	if (fast->pages->ends) {
		unsigned int offset = sg_offset ? *sg_offset : 0;

		/* Entries are mapped completely, so no rest of one is to be mapped next. */
		if (sg_offset)
			*sg_offset = 0;
		return fastreg_map_pieces(fast, sg, num_sg, offset);
	}
	if (!is_power_of_2(ibmr->page_size))
		return -EINVAL;
	fast->pages->shift = ilog2(ibmr->page_size);
	return ib_sg_to_pages(ibmr, sg, num_sg, sg_offset, fastreg_set_page);
}

enum pinion_syndrome pinion_fastreg(struct pinion_keys *keys, struct ib_pd *pd,
				    const struct pinion_wqe_reg *reg)
{
	struct pinion_key *key = pinion_key_get_any_tag(keys, reg->key);
	struct pinion_fastreg *fast;
	enum pinion_syndrome syndrome = 0;

	if (!key)
		return PINION_SYN_KEY_UNKNOWN;
	/* Check first without the gate: do not close the gate of somebody else's key. */
	if (READ_ONCE(key->pd) != pd || !READ_ONCE(key->fastreg)) {
		pinion_key_put(key);
		return PINION_SYN_KEY_UNKNOWN;
	}
	pinion_key_close(key);
	fast = key->fastreg;
	if (!fast || key->state == PINION_KEY_DEAD || key->pd != pd || !fast->num_pages)
		syndrome = PINION_SYN_KEY_UNKNOWN;
	else if (key->state != PINION_KEY_FREE || atomic_read(&key->lent))
		syndrome = PINION_SYN_KEY_STATE;
	if (!syndrome) {
		/* Without a new list, the old one is registered again after an invalidation. */
		if (fast->fresh)
			swap(fast->mr.backing.mtt, fast->pages);
		fast->fresh = false;
		key->mtt = fast->mr.backing.mtt;
		pinion_key_exchanged(key);
		if (!key->mtt->ends)
			key->mtt->first = fast->mr.ibmr.iova & (fast->mr.ibmr.page_size - 1);
		key->base = fast->mr.ibmr.iova;
		key->length = fast->mr.ibmr.length;
		key->rights = pinion_key_rights(reg->access);
		WRITE_ONCE(key->value, reg->key);
		key->state = PINION_KEY_VALID;
	}
	pinion_key_open(key);
	pinion_key_put(key);
	return syndrome;
}
