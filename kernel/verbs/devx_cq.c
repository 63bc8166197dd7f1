// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates and destroys the completion queues of DEVX commands. The RDMA core does not know them.
 */
#include <linux/slab.h>

#include "devx_cq.h"
#include "ucontext.h"
#include "user.h"

/* Completions go to the umem. This ring holds none; code that completes reads its header. */
#define DUMMY_ENTRIES	1

int pinion_devx_view(struct pinion_dev *dev, const void *owner, struct pinion_view *view,
		     const struct pinion_devx_place *place, u64 length, u32 align,
		     enum pinion_view_use use)
{
	struct pinion_umem *umem;
	int err;

	umem = pinion_umem_use(&dev->umems, place->umem_id, owner);
	if (!umem)
		return PINION_DEVX_NO_SUCH_UMEM;
	err = pinion_view_make(view, umem, place->offset, length, align, use);
	if (!err)
		return 0;
	pinion_umem_unuse(umem);
	if (err == -EINVAL)
		return PINION_DEVX_QUEUE_UMEM;
	return err == -ENOSPC ? PINION_DEVX_UMEM_VIEWS : err;
}

static void queue_forget_places(struct pinion_devx_queue *queue)
{
	pinion_ring_free(&queue->cq.ring);
	pinion_view_end(&queue->raw.record);
	pinion_view_end(&queue->raw.ring);
}

static int queue_find_places(struct pinion_dev *dev, const void *owner,
			     struct pinion_devx_queue *queue)
{
	const struct pinion_devx_cq *asked = &queue->asked;
	struct pinion_raw_cq *raw = &queue->raw;
	int err;

	raw->entries = 1 << asked->log_size;
	raw->stride = asked->wide ? 128 : 64;
	raw->overruns = asked->overruns;
	err = pinion_devx_view(dev, owner, &raw->ring, &asked->ring,
			       (u64)raw->entries * raw->stride, 64, PINION_VIEW_WRITE);
	if (!err)
		err = pinion_devx_view(dev, owner, &raw->record, &asked->record,
				       PINION_RAW_RECORD, PINION_RAW_RECORD, PINION_VIEW_READ);
	if (!err)
		err = pinion_ring_alloc(&queue->cq.ring, DUMMY_ENTRIES, sizeof(struct pinion_cqe));
	if (err)
		queue_forget_places(queue);
	return err;
}

static int queue_make(struct pinion_dev *dev, const void *owner, struct pinion_devx_queue *queue)
{
	struct pinion_cq *cq = &queue->cq;
	int err;

	err = queue_find_places(dev, owner, queue);
	if (err)
		return err;
	err = pinion_devx_name_take(&dev->devx_cqs, 2 * PINION_MAX_CQ, &queue->name);
	if (err) {
		queue_forget_places(queue);
		return err;
	}
	cq->ibcq.device = &dev->ibdev;
	cq->ibcq.cqe = queue->raw.entries;
	pinion_devx_events_init(&queue->events, PINION_MLX5_OF_CQ, queue->name.number);
	cq->ibcq.event_handler = pinion_devx_happened;
	cq->ibcq.cq_context = &queue->events;
	/* The first arm word of a program may be 0, so 0 must not look like an old one. */
	queue->raw.fired = ~0;
	cq->raw = &queue->raw;
	cq->node = &dev->node;
	pinion_cq_init(cq, true, PINION_CQ_TIMESTAMP);
	pinion_cq_moderate(&cq->ibcq, queue->asked.max_count, queue->asked.period);
	return 0;
}

int pinion_devx_cq_make(struct pinion_dev *dev, struct pinion_user *user, const void *owner,
			const struct pinion_devx_cq *asked, struct pinion_devx_queue **made)
{
	struct pinion_devx_queue *queue;
	int err;

	if (1ULL << asked->log_size > PINION_MAX_CQE)
		return PINION_DEVX_QUEUE_SIZE;
	if (!asked->eqn || asked->eqn > dev->ibdev.num_comp_vectors)
		return PINION_DEVX_NO_SUCH_EQ;
	err = pinion_count_in(dev, user, PINION_COUNT_CQ);
	if (err)
		return err == -EDQUOT ? PINION_DEVX_USER_QUEUES : PINION_DEVX_DEVICE_QUEUES;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!queue)
		goto err_count;
	queue->asked = *asked;
	err = queue_make(dev, owner, queue);
	if (err)
		goto err_free;
	*made = queue;
	return 0;

err_free:
	kfree(queue);
err_count:
	pinion_count_out(dev, user, PINION_COUNT_CQ);
	return err;
}

void pinion_devx_cq_listen(struct pinion_devx_queue *queue, struct pinion_ucontext *ucontext)
{
	guard(mutex)(&ucontext->events_lock);
	if (queue->cq.ibcq.comp_handler)
		return;
	WRITE_ONCE(queue->cq.ibcq.comp_handler, pinion_devx_completed);
	pinion_bells_join_cq(&ucontext->user->bells, &queue->raw);
}

int pinion_devx_cq_end(struct pinion_dev *dev, struct pinion_ucontext *ucontext,
		       struct pinion_devx_queue *queue)
{
	int err;

	err = pinion_devx_name_end(&dev->devx_cqs, &queue->name);
	if (err)
		return err;
	if (queue->cq.ibcq.comp_handler)
		pinion_bells_leave_cq(&queue->raw);
	pinion_cq_fini(&queue->cq);
	pinion_devx_events_end(&queue->events, ucontext);
	queue_forget_places(queue);
	kfree(queue);
	pinion_count_out(dev, ucontext->user, PINION_COUNT_CQ);
	return 0;
}

struct pinion_devx_queue *pinion_devx_cq_use(struct pinion_dev *dev, u32 number,
					     const void *owner)
{
	struct pinion_devx_name *name = pinion_devx_name_use(&dev->devx_cqs, number, owner);

	return name ? container_of(name, struct pinion_devx_queue, name) : NULL;
}

void pinion_devx_cq_unuse(struct pinion_dev *dev, struct pinion_devx_queue *queue)
{
	pinion_devx_name_unuse(&dev->devx_cqs, &queue->name);
}

void pinion_devx_cq_change(struct pinion_devx_queue *queue,
			   const struct pinion_devx_cq_change *change)
{
	struct pinion_devx_cq *asked = &queue->asked;

	if (change->sets_period)
		asked->period = change->period;
	if (change->sets_count)
		asked->max_count = change->max_count;
	pinion_cq_moderate(&queue->cq.ibcq, asked->max_count, asked->period);
}

void pinion_devx_cq_tell(struct pinion_devx_queue *queue, u8 *out)
{
	struct pinion_cq *cq = &queue->cq;
	struct pinion_devx_cq_state state = {
		.consumer = pinion_raw_cq_consumer(&queue->raw),
	};

	spin_lock(&cq->fill_lock);
	state.overflow = cq->overflow;
	state.producer = cq->tail & 0xffffff;
	spin_unlock(&cq->fill_lock);
	pinion_devx_put_cq(out, &queue->asked, &state);
}
