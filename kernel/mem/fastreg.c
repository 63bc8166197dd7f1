// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration. The page list is collected beside the table in force, and the
 * two change places when the work request is performed.
 */
#include <linux/slab.h>
#include <rdma/pinion-abi.h>

#include "fastreg.h"
#include "mtt.h"

/* As many pages, all of one size; or pieces of any length, for lists with gaps. */
static struct pinion_mtt *new_list(enum ib_mr_type type, u32 max_num_sg)
{
	if (type == IB_MR_TYPE_SG_GAPS)
		return pinion_mtt_alloc_pieces(max_num_sg);
	return pinion_mtt_alloc(max_num_sg, PAGE_SHIFT, 0);
}

/**
 * pinion_alloc_mr - a region without memory
 * @keys: the device's keys
 * @pd: a kernel protection domain
 * @type: IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS
 * @max_num_sg: how many pages, or pieces, it may be given
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_alloc_mr(struct pinion_keys *keys, struct ib_pd *pd,
			      enum ib_mr_type type, u32 max_num_sg)
{
	struct pinion_mr *mr;
	int err = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > PINION_MAX_FASTREG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_num_sg;
	mr->pages = new_list(type, max_num_sg);
	if (!mr->pages)
		goto err_free;
	mr->key = pinion_key_alloc(keys, PINION_KEY_REGION, GFP_KERNEL);
	if (IS_ERR(mr->key)) {
		err = PTR_ERR(mr->key);
		goto err_free_pages;
	}
	mr->backing.mtt = new_list(type, max_num_sg);
	if (!mr->backing.mtt)
		goto err_kill;
	mr->key->mtt = mr->backing.mtt;
	mr->key->pd = pd;
	mr->key->invalidatable = true;
	mr->key->fastreg = mr;
	pinion_key_publish(mr->key);
	mr->ibmr.lkey = mr->key->value;
	mr->ibmr.rkey = mr->key->value;
	return &mr->ibmr;

err_kill:
	pinion_key_kill(mr->key);
err_free_pages:
	pinion_mtt_free(mr->pages);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct pinion_mr *mr = to_pinion_mr(ibmr);

	if (mr->num_pages == mr->max_pages)
		return -ENOMEM;
	*pinion_mtt_slot(mr->pages, mr->num_pages++) = addr;
	return 0;
}

/* Each entry as it is, wherever it begins and ends. */
static int map_pieces(struct pinion_mr *mr, struct scatterlist *sgl, int num_sg,
		      unsigned int offset)
{
	struct scatterlist *sg;
	int i;

	if (num_sg <= 0 || offset > sg_dma_len(sgl))
		return -EINVAL;
	mr->ibmr.iova = sg_dma_address(sgl) + offset;
	mr->ibmr.length = 0;
	for_each_sg(sgl, sg, num_sg, i) {
		if (mr->num_pages == mr->max_pages)
			break;
		if (sg_dma_len(sg) > offset)
			pinion_mtt_set_piece(mr->pages, mr->num_pages++,
					     sg_dma_address(sg) + offset,
					     sg_dma_len(sg) - offset);
		mr->ibmr.length += sg_dma_len(sg) - offset;
		offset = 0;
	}
	return i;
}

/**
 * pinion_map_mr_sg - collect the memory of the next REG_MR
 * @ibmr: the region
 * @sg: DMA mapped
 * @num_sg: entries
 * @sg_offset: into the first
 *
 * Return: how many entries fit, or a negative errno.
 */
int pinion_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int num_sg,
		     unsigned int *sg_offset)
{
	struct pinion_mr *mr = to_pinion_mr(ibmr);

	mr->num_pages = 0;
	mr->fresh = true;
	if (mr->pages->ends) {
		unsigned int offset = sg_offset ? *sg_offset : 0;

		/* Entries are taken whole, so nothing is left of any. */
		if (sg_offset)
			*sg_offset = 0;
		return map_pieces(mr, sg, num_sg, offset);
	}
	if (!is_power_of_2(ibmr->page_size))
		return -EINVAL;
	mr->pages->shift = ilog2(ibmr->page_size);
	return ib_sg_to_pages(ibmr, sg, num_sg, sg_offset, set_page);
}

int pinion_fastreg(struct pinion_keys *keys, struct ib_pd *pd,
		   const struct pinion_wqe_reg *reg)
{
	struct pinion_key *key = pinion_key_get_any_tag(keys, reg->key);
	struct pinion_mr *mr;
	int syndrome = 0;

	if (!key)
		return PINION_SYN_KEY_UNKNOWN;
	/* A stranger's is not closed for this. */
	if (READ_ONCE(key->pd) != pd || !READ_ONCE(key->fastreg)) {
		pinion_key_put(key);
		return PINION_SYN_KEY_UNKNOWN;
	}
	pinion_key_close(key);
	mr = key->fastreg;
	if (!mr || key->state == PINION_KEY_DEAD || key->pd != pd || !mr->num_pages)
		syndrome = PINION_SYN_KEY_UNKNOWN;
	else if (key->state != PINION_KEY_FREE || atomic_read(&key->windows))
		syndrome = PINION_SYN_KEY_STATE;
	if (!syndrome) {
		/* A list may be registered again after it was invalidated. */
		if (mr->fresh)
			swap(mr->backing.mtt, mr->pages);
		mr->fresh = false;
		key->mtt = mr->backing.mtt;
		key->generation++;
		if (!key->mtt->ends)
			key->mtt->first = mr->ibmr.iova & (mr->ibmr.page_size - 1);
		key->base = mr->ibmr.iova;
		key->length = mr->ibmr.length;
		key->rights = pinion_key_rights(reg->access);
		WRITE_ONCE(key->value, reg->key);
		key->state = PINION_KEY_VALID;
	}
	pinion_key_open(key);
	pinion_key_put(key);
	return syndrome;
}
