// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates, modifies and destroys the shared receive queues (RMPs) of DEVX commands. The RDMA core
 * does not know them.
 */
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "devx_cq.h"
#include "devx_rmp.h"
#include "ucontext.h"
#include "user.h"

/* The count of posted receives has 16 bits, and a full queue must not look empty. */
#define MAX_ENTRIES	SZ_32K

static void pool_forget_places(struct pinion_devx_pool *pool)
{
	pinion_view_end(&pool->record);
	pinion_view_end(&pool->ring);
}

static int pool_find_places(struct pinion_dev *dev, const void *owner,
			    struct pinion_devx_pool *pool)
{
	const struct pinion_devx_rmp *asked = &pool->asked;
	struct pinion_raw_rq *raw = &pool->raw;
	int err;

	err = pinion_devx_view(dev, owner, &pool->ring, &asked->ring,
			       1ULL << (asked->log_size + asked->log_stride), PINION_MLX5_BLOCK,
			       PINION_VIEW_READ);
	if (!err)
		err = pinion_devx_view(dev, owner, &pool->record, &asked->record,
				       PINION_RAW_RECORD, PINION_RAW_RECORD, PINION_VIEW_READ);
	if (err) {
		pool_forget_places(pool);
		return err;
	}
	raw->slots = pool->ring.at;
	raw->record = pool->record.at;
	raw->entries = 1 << asked->log_size;
	raw->shared = true;
	raw->linked = asked->linked;
	raw->num_sge = ((1 << asked->log_stride) - PINION_MLX5_LINK) / sizeof(struct pinion_sge);
	return 0;
}

static int pool_make(struct pinion_dev *dev, struct ib_ucontext *context,
		     struct pinion_devx_pool *pool)
{
	struct pinion_ucontext *ucontext = to_pinion_ucontext(context);
	struct pinion_srq *srq = &pool->srq;
	int err;

	err = pinion_ucontext_make_workers(ucontext);
	if (err)
		return err;
	pool->pd = pinion_pd_use(dev, pool->asked.pdn, context);
	if (!pool->pd)
		return PINION_DEVX_NO_SUCH_PD;
	err = pool_find_places(dev, context, pool);
	if (err)
		goto err_unuse;
	err = pinion_devx_name_take(&dev->devx_rmps, 2 * PINION_MAX_SRQ, &pool->name);
	if (err)
		goto err_forget;
	pinion_devx_events_init(&pool->events, PINION_MLX5_OF_SRQ, pool->name.number);
	srq->ibsrq.event_handler = pinion_devx_happened;
	srq->ibsrq.srq_context = &pool->events;
	srq->ibsrq.device = &dev->ibdev;
	srq->ibsrq.pd = &pool->pd->ibpd;
	srq->ibsrq.srq_type = IB_SRQT_BASIC;
	srq->node = &dev->node;
	srq->faulter = ucontext->faulter;
	srq->user = true;
	pinion_recvq_init(&srq->rq, pool->raw.num_sge);
	srq->rq.raw = &pool->raw;
	srq->limit = pool->asked.limit;
	return 0;

err_forget:
	pool_forget_places(pool);
err_unuse:
	pinion_pd_unuse(pool->pd);
	return err;
}

static bool pool_fits(const struct pinion_devx_rmp *asked)
{
	u32 most = ilog2(PINION_MAX_SGE * sizeof(struct pinion_sge));
	/* The segment with the next index, which only a list uses, and one data segment. */
	u32 least = ilog2(PINION_MLX5_LINK + sizeof(struct pinion_sge));

	return 1U << asked->log_size <= MAX_ENTRIES && asked->log_stride >= least &&
	       asked->log_stride <= most && asked->limit <= 1U << asked->log_size;
}

int pinion_devx_rmp_make(struct pinion_dev *dev, struct ib_ucontext *context,
			 const struct pinion_devx_rmp *asked, struct pinion_devx_pool **made)
{
	struct pinion_user *user = to_pinion_ucontext(context)->user;
	struct pinion_devx_pool *pool;
	int err;

	if (!pool_fits(asked))
		return PINION_DEVX_QUEUE_SIZE;
	err = pinion_count_in(dev, user, PINION_COUNT_SRQ);
	if (err)
		return err == -EDQUOT ? PINION_DEVX_USER_QUEUES : PINION_DEVX_DEVICE_QUEUES;
	pool = kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!pool)
		goto err_count;
	pool->asked = *asked;
	err = pool_make(dev, context, pool);
	if (err)
		goto err_free;
	*made = pool;
	return 0;

err_free:
	kfree(pool);
err_count:
	pinion_count_out(dev, user, PINION_COUNT_SRQ);
	return err;
}

int pinion_devx_rmp_end(struct pinion_dev *dev, struct pinion_ucontext *ucontext,
			struct pinion_devx_pool *pool)
{
	int err;

	err = pinion_devx_name_end(&dev->devx_rmps, &pool->name);
	if (err)
		return err;
	pinion_devx_events_end(&pool->events, ucontext);
	pool_forget_places(pool);
	pinion_pd_unuse(pool->pd);
	kfree(pool);
	pinion_count_out(dev, ucontext->user, PINION_COUNT_SRQ);
	return 0;
}

int pinion_devx_rmp_change(struct pinion_devx_pool *pool,
			   const struct pinion_devx_rmp_change *change)
{
	if (change->sets_limit && pinion_srq_set_limit(&pool->srq, change->limit))
		return PINION_DEVX_QUEUE_SIZE;
	return PINION_DEVX_DONE;
}

/* Write the answer of QUERY_RMP. The limit is 0 after its event, until it is set again. */
void pinion_devx_rmp_tell(struct pinion_devx_pool *pool, u8 *out)
{
	struct pinion_devx_rmp told = pool->asked;
	u16 done;

	spin_lock(&pool->srq.rq.lock);
	told.limit = pool->srq.limit;
	done = pool->raw.next;
	spin_unlock(&pool->srq.rq.lock);
	pinion_devx_put_rmp(out, &told, done);
}

struct pinion_devx_pool *pinion_devx_rmp_use(struct pinion_dev *dev, u32 number,
					     const void *owner)
{
	struct pinion_devx_name *name = pinion_devx_name_use(&dev->devx_rmps, number, owner);

	return name ? container_of(name, struct pinion_devx_pool, name) : NULL;
}

void pinion_devx_rmp_unuse(struct pinion_dev *dev, struct pinion_devx_pool *pool)
{
	pinion_devx_name_unuse(&dev->devx_rmps, &pool->name);
}
