// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event channels as uverbs objects, with mlx5's own numbers, and subscriptions. A subscription has
 * room for one event: if it is raised again before it was read, it is read once.
 *
 * A subscription belongs to a queue and a channel of the same context, and ends with either. The
 * context's events_lock is held while one is added or removed. Raising an event takes events->lock,
 * then channel->lock, and does not sleep.
 */
#define UVERBS_MODULE_NAME pinion

#include <linux/eventfd.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "devx_event.h"
#include "devx_obj.h"
#include "ops.h"
#include "ucontext.h"

/* Per queue; raising an event walks all of them with interrupts off. */
#define MAX_SUBSCRIPTIONS	64
/* Event types in one call. */
#define MAX_TYPES		16

struct devx_channel {
	struct ib_uobject uobj;		/* must be first: allocated by the core */
	bool omits_data;		/* only cookies are read */
	struct list_head subscriptions;	/* under the context's events_lock */
	spinlock_t lock;		/* protects the fields below */
	struct list_head pending;	/* subscriptions with an event to be read */
	bool gone;			/* the uobject was destroyed; only the file is left */
	wait_queue_head_t wait;
};

struct devx_subscription {
	struct pinion_devx_events *events;
	struct devx_channel *channel;
	struct list_head of_queue;
	struct list_head of_channel;
	struct list_head pending;	/* in channel->pending, or empty */
	struct eventfd_ctx *eventfd;	/* signalled instead of the channel; or NULL */
	u8 type;
	/* The bytes that are read from the channel. */
	struct {
		__aligned_u64 cookie;
		u8 eqe[PINION_MLX5_EQE];
	} told;
};

static struct devx_channel *to_channel(struct ib_uobject *uobj)
{
	return container_of(uobj, struct devx_channel, uobj);
}

/* ---------------------------------------------------------------- events */

void pinion_devx_events_init(struct pinion_devx_events *events, enum pinion_mlx5_event_of of,
			     u32 number)
{
	events->of = of;
	events->number = number;
	spin_lock_init(&events->lock);
	INIT_LIST_HEAD(&events->subscriptions);
	events->count = 0;
}

/* events->lock is held, interrupts are off. */
static void subscription_tell(struct devx_subscription *subscription, u8 type, u32 number)
{
	struct devx_channel *channel = subscription->channel;

	if (subscription->type != type)
		return;
	if (subscription->eventfd) {
		eventfd_signal(subscription->eventfd);
		return;
	}
	spin_lock(&channel->lock);
	pinion_mlx5_eqe_fill(subscription->told.eqe, type, number);
	if (list_empty(&subscription->pending))
		list_add_tail(&subscription->pending, &channel->pending);
	spin_unlock(&channel->lock);
	wake_up_interruptible(&channel->wait);
}

static void devx_events_tell(struct pinion_devx_events *events, u8 type)
{
	struct devx_subscription *subscription;

	guard(spinlock_irqsave)(&events->lock);
	list_for_each_entry(subscription, &events->subscriptions, of_queue)
		subscription_tell(subscription, type, events->number);
}

void pinion_devx_completed(struct ib_cq *cq, void *events)
{
	devx_events_tell(events, PINION_MLX5_COMPLETION);
}

static u8 devx_event_type(enum ib_event_type type)
{
	switch (type) {
	case IB_EVENT_CQ_ERR:
		return PINION_MLX5_CQ_ERROR;
	case IB_EVENT_QP_FATAL:
		return PINION_MLX5_QP_FATAL;
	case IB_EVENT_QP_REQ_ERR:
		return PINION_MLX5_QP_REQUEST;
	case IB_EVENT_QP_ACCESS_ERR:
		return PINION_MLX5_QP_ACCESS;
	case IB_EVENT_COMM_EST:
		return PINION_MLX5_COMM_EST;
	case IB_EVENT_SQ_DRAINED:
		return PINION_MLX5_SQ_DRAINED;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		return PINION_MLX5_LAST_WQE;
	case IB_EVENT_SRQ_LIMIT_REACHED:
		return PINION_MLX5_SRQ_LIMIT;
	default:
		return PINION_MLX5_NO_EVENT;
	}
}

void pinion_devx_happened(struct ib_event *event, void *events)
{
	devx_events_tell(events, devx_event_type(event->event));
}

/* ---------------------------------------------------------- subscriptions */

/* It is in no list any more. */
static void subscription_free(struct devx_subscription *subscription)
{
	if (subscription->eventfd)
		eventfd_ctx_put(subscription->eventfd);
	kfree(subscription);
}

/* The context's events_lock is held. */
static void subscription_end(struct devx_subscription *subscription)
{
	struct pinion_devx_events *events = subscription->events;
	struct devx_channel *channel = subscription->channel;

	spin_lock_irq(&events->lock);
	list_del(&subscription->of_queue);
	events->count--;
	spin_unlock_irq(&events->lock);
	list_del(&subscription->of_channel);
	spin_lock_irq(&channel->lock);
	list_del(&subscription->pending);
	spin_unlock_irq(&channel->lock);
	subscription_free(subscription);
}

void pinion_devx_events_end(struct pinion_devx_events *events, struct pinion_ucontext *ucontext)
{
	struct devx_subscription *subscription, *next;

	guard(mutex)(&ucontext->events_lock);
	list_for_each_entry_safe(subscription, next, &events->subscriptions, of_queue)
		subscription_end(subscription);
}

/* The arguments of a subscription call. */
struct devx_subscribe {
	struct devx_channel *channel;
	struct pinion_devx_events *events;
	const u16 *types;
	int num_types;
	bool redirects;
	u32 fd;
	u64 cookie;
};

static struct devx_subscription *subscription_new(const struct devx_subscribe *ask, u16 type)
{
	struct devx_subscription *subscription;
	struct eventfd_ctx *eventfd;

	subscription = kzalloc(sizeof(*subscription), GFP_KERNEL_ACCOUNT);
	if (!subscription)
		return ERR_PTR(-ENOMEM);
	if (ask->redirects) {
		eventfd = eventfd_ctx_fdget(ask->fd);
		if (IS_ERR(eventfd)) {
			kfree(subscription);
			return ERR_CAST(eventfd);
		}
		subscription->eventfd = eventfd;
	}
	subscription->events = ask->events;
	subscription->channel = ask->channel;
	subscription->type = type;
	subscription->told.cookie = ask->cookie;
	INIT_LIST_HEAD(&subscription->pending);
	return subscription;
}

/* Free subscriptions that were not added to a queue yet. */
static void subscriptions_forget(struct list_head *made)
{
	struct devx_subscription *subscription, *next;

	list_for_each_entry_safe(subscription, next, made, of_channel)
		subscription_free(subscription);
}

static int subscriptions_make(const struct devx_subscribe *ask, struct list_head *made)
{
	struct devx_subscription *subscription;
	int i;

	for (i = 0; i < ask->num_types; i++) {
		subscription = subscription_new(ask, ask->types[i]);
		if (IS_ERR(subscription))
			return PTR_ERR(subscription);
		list_add_tail(&subscription->of_channel, made);
	}
	return 0;
}

static int subscriptions_add(const struct devx_subscribe *ask, struct list_head *made)
{
	struct pinion_devx_events *events = ask->events;
	struct devx_subscription *subscription;

	if (events->count + ask->num_types > MAX_SUBSCRIPTIONS)
		return -ENOSPC;
	spin_lock_irq(&events->lock);
	list_for_each_entry(subscription, made, of_channel)
		list_add_tail(&subscription->of_queue, &events->subscriptions);
	events->count += ask->num_types;
	spin_unlock_irq(&events->lock);
	list_splice_tail(made, &ask->channel->subscriptions);
	return 0;
}

/* Subscribe to all types, or to none. */
static int devx_subscribe(struct pinion_ucontext *ucontext, const struct devx_subscribe *ask)
{
	LIST_HEAD(made);
	int err;

	err = subscriptions_make(ask, &made);
	if (!err) {
		mutex_lock(&ucontext->events_lock);
		err = subscriptions_add(ask, &made);
		mutex_unlock(&ucontext->events_lock);
	}
	if (err)
		subscriptions_forget(&made);
	return err;
}

static int devx_subscribe_read(struct uverbs_attr_bundle *attrs, struct devx_subscribe *ask)
{
	const u16 types = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST;
	bool has_cookie =
		uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE);
	int i;

	ask->redirects =
		uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM);
	if (ask->redirects && has_cookie)
		return -EINVAL;
	if (ask->redirects &&
	    uverbs_copy_from(&ask->fd, attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM))
		return -EFAULT;
	if (has_cookie &&
	    uverbs_copy_from(&ask->cookie, attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE))
		return -EFAULT;
	ask->num_types = uverbs_attr_ptr_get_array_size(attrs, types, sizeof(u16));
	if (ask->num_types < 0)
		return ask->num_types;
	if (ask->num_types > MAX_TYPES)
		return -EINVAL;
	ask->types = uverbs_attr_get_alloced_ptr(attrs, types);
	if (IS_ERR(ask->types))
		return PTR_ERR(ask->types);
	for (i = 0; i < ask->num_types; i++) {
		if (!pinion_mlx5_event_is_of(ask->types[i], ask->events->of))
			return -EINVAL;
	}
	return 0;
}

static bool devx_asks_for(const struct devx_subscribe *ask, u16 type)
{
	int i;

	for (i = 0; i < ask->num_types; i++) {
		if (ask->types[i] == type)
			return true;
	}
	return false;
}

/* An object is required: there are no events that are not about an object. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT)(struct uverbs_attr_bundle *attrs)
{
	struct pinion_devx_obj *obj =
		uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE);
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE);
	struct devx_subscribe ask = {};
	int err;

	if (IS_ERR(uobj))
		return PTR_ERR(uobj);
	if (IS_ERR(obj))
		return -EINVAL;
	ask.channel = to_channel(uobj);
	ask.events = pinion_devx_obj_events(obj);
	if (!ask.events)
		return -EINVAL;
	err = devx_subscribe_read(attrs, &ask);
	if (err)
		return err;
	err = devx_subscribe(obj->ucontext, &ask);
	/* From now on bell.c has to poll the queue's doorbell record. */
	if (!err && devx_asks_for(&ask, PINION_MLX5_COMPLETION))
		pinion_devx_obj_listen(obj);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT,
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE,
					   MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, UVERBS_ACCESS_READ,
					   UA_MANDATORY),
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE,
					    MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_READ,
					    UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST,
					       UVERBS_ATTR_MIN_SIZE(sizeof(u16)), UA_MANDATORY,
					       UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE,
					       UVERBS_ATTR_TYPE(u64), UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM,
					       UVERBS_ATTR_TYPE(u32), UA_OPTIONAL));

ADD_UVERBS_METHODS(devx_event_methods, MLX5_IB_OBJECT_DEVX,
		   &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT));

/* --------------------------------------------------------------- channels */

static int
UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE);
	struct devx_channel *channel = to_channel(uobj);
	u32 flags;
	int err;

	INIT_LIST_HEAD(&channel->subscriptions);
	INIT_LIST_HEAD(&channel->pending);
	spin_lock_init(&channel->lock);
	init_waitqueue_head(&channel->wait);
	err = uverbs_get_flags32(&flags, attrs, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS,
				 MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
	channel->omits_data = flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA;
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
					   MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, UVERBS_ACCESS_NEW,
					   UA_MANDATORY),
			    UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS,
						 enum mlx5_ib_uapi_devx_create_event_channel_flags,
						 UA_MANDATORY));

/* Called when the file is closed, or before that with its context or the device. */
static void devx_channel_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why)
{
	struct pinion_ucontext *ucontext = to_pinion_ucontext(uobj->context);
	struct devx_channel *channel = to_channel(uobj);
	struct devx_subscription *subscription, *next;

	mutex_lock(&ucontext->events_lock);
	list_for_each_entry_safe(subscription, next, &channel->subscriptions, of_channel)
		subscription_end(subscription);
	mutex_unlock(&ucontext->events_lock);
	spin_lock_irq(&channel->lock);
	channel->gone = true;
	spin_unlock_irq(&channel->lock);
	wake_up_interruptible(&channel->wait);
}

static bool devx_channel_has_news(struct devx_channel *channel)
{
	guard(spinlock_irq)(&channel->lock);
	return channel->gone || !list_empty(&channel->pending);
}

/*
 * Take the oldest event: its first @size bytes are copied to @told. Return: 0; -EAGAIN if there is
 * none; -EIO if the channel is gone.
 */
static int devx_channel_take(struct devx_channel *channel, size_t size, void *told)
{
	struct devx_subscription *subscription;

	guard(spinlock_irq)(&channel->lock);
	if (channel->gone)
		return -EIO;
	subscription = list_first_entry_or_null(&channel->pending, struct devx_subscription,
						pending);
	if (!subscription)
		return -EAGAIN;
	memcpy(told, &subscription->told, size);
	list_del_init(&subscription->pending);
	return 0;
}

static ssize_t devx_channel_read(struct file *file, char __user *to, size_t length, loff_t *pos)
{
	struct devx_channel *channel = file->private_data;
	struct devx_subscription *any;
	size_t size = channel->omits_data ? sizeof(any->told.cookie) : sizeof(any->told);
	u8 told[sizeof(any->told)];
	int err;

	if (length < size)
		return -EINVAL;
	while ((err = devx_channel_take(channel, size, told)) == -EAGAIN) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(channel->wait, devx_channel_has_news(channel)))
			return -ERESTARTSYS;
	}
	if (err)
		return err;
	return copy_to_user(to, told, size) ? -EFAULT : size;
}

static __poll_t devx_channel_poll(struct file *file, struct poll_table_struct *wait)
{
	struct devx_channel *channel = file->private_data;

	poll_wait(file, &channel->wait, wait);
	if (!devx_channel_has_news(channel))
		return 0;
	return READ_ONCE(channel->gone) ? EPOLLIN | EPOLLRDNORM | EPOLLRDHUP :
					  EPOLLIN | EPOLLRDNORM;
}

static const struct file_operations devx_channel_fops = {
	.owner = THIS_MODULE,
	.read = devx_channel_read,
	.poll = devx_channel_poll,
	.release = uverbs_uobject_fd_release,
};

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct devx_channel),
						 devx_channel_cleanup, &devx_channel_fops,
						 "[pinion_devx_event]", O_RDONLY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC));

const struct uapi_definition pinion_devx_event_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(MLX5_IB_OBJECT_DEVX, &devx_event_methods),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD),
	{},
};
