// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asynchronous queries, whose answers are read from a file, with mlx5's own numbers of methods. In
 * fact they are performed at once, as no query has to wait.
 */
#define UVERBS_MODULE_NAME pinion

#include <linux/poll.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "devx_obj.h"
#include "ops.h"

/* Limit of answers in a file that were not read yet. */
#define MAX_BYTES SZ_1M

struct devx_answers {
	struct ib_uobject uobj;		/* must be first: allocated by the core */
	spinlock_t lock;		/* protects the fields below */
	struct list_head list;
	size_t bytes;
	bool gone;			/* the uobject was destroyed; only the file is left */
	wait_queue_head_t wait;
};

struct devx_answer {
	struct list_head list;
	size_t length;			/* of the answer in told.out_data */
	/* The bytes that read() returns. */
	struct mlx5_ib_uapi_devx_async_cmd_hdr told;
};

static struct devx_answers *to_answers(struct ib_uobject *uobj)
{
	return container_of(uobj, struct devx_answers, uobj);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE);
	struct devx_answers *answers = to_answers(uobj);

	spin_lock_init(&answers->lock);
	INIT_LIST_HEAD(&answers->list);
	init_waitqueue_head(&answers->wait);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE,
					   MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, UVERBS_ACCESS_NEW,
					   UA_MANDATORY));

/* Like MLX5_IB_METHOD_DEVX_OBJ_QUERY, but a refusal is a normal answer, not -EREMOTEIO. */
static int devx_answer_fill(const struct pinion_devx_obj *obj, struct uverbs_attr_bundle *attrs,
			    struct devx_answer *answer)
{
	const u8 *in = uverbs_attr_get_alloced_ptr(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN);
	u8 *out = answer->told.out_data;
	struct pinion_devx_cmd cmd;
	int result, length;

	if (IS_ERR(in))
		return PTR_ERR(in);
	if (uverbs_copy_from(&answer->told.wr_id, attrs,
			     MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID))
		return -EFAULT;
	length = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN);
	result = pinion_devx_parse(in, length, answer->length, &cmd);
	if (!result)
		result = pinion_devx_query(obj, &cmd, out);
	if (result < 0)
		return result;
	pinion_devx_put_refusal(out, result);
	return 0;
}

static int devx_answers_add(struct devx_answers *answers, struct devx_answer *answer)
{
	spin_lock(&answers->lock);
	if (answers->bytes + answer->length > MAX_BYTES) {
		spin_unlock(&answers->lock);
		return -EAGAIN;
	}
	answers->bytes += answer->length;
	list_add_tail(&answer->list, &answers->list);
	spin_unlock(&answers->lock);
	wake_up_interruptible(&answers->wait);
	return 0;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct pinion_devx_obj *obj =
		uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE);
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD);
	struct devx_answer *answer;
	u16 length;
	int err;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	if (IS_ERR(uobj))
		return PTR_ERR(uobj);
	err = uverbs_get_const(&length, attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN);
	if (err)
		return err;
	if (length < PINION_DEVX_HEAD)
		return -EINVAL;
	answer = kvzalloc(struct_size(answer, told.out_data, length), GFP_KERNEL_ACCOUNT);
	if (!answer)
		return -ENOMEM;
	answer->length = length;
	err = devx_answer_fill(obj, attrs, answer);
	if (!err)
		err = devx_answers_add(to_answers(uobj), answer);
	if (err)
		kvfree(answer);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE,
					    MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN,
					       UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, u16,
						 UA_MANDATORY),
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD,
					   MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, UVERBS_ACCESS_READ,
					   UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID,
					       UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

ADD_UVERBS_METHODS(devx_async_methods, MLX5_IB_OBJECT_DEVX_OBJ,
		   &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY));

/* Called when the file is closed, or before that with its context or the device. */
static void devx_answers_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why)
{
	struct devx_answers *answers = to_answers(uobj);
	struct devx_answer *answer, *next;

	spin_lock(&answers->lock);
	answers->gone = true;
	spin_unlock(&answers->lock);
	wake_up_interruptible(&answers->wait);
	/* With @gone set, no answer is added or taken any more. */
	list_for_each_entry_safe(answer, next, &answers->list, list)
		kvfree(answer);
}

static bool devx_answers_have_news(struct devx_answers *answers)
{
	guard(spinlock)(&answers->lock);
	return answers->gone || !list_empty(&answers->list);
}

/* Take the oldest answer, if it fits into @room bytes. */
static struct devx_answer *devx_answers_take(struct devx_answers *answers, size_t room)
{
	struct devx_answer *answer;

	guard(spinlock)(&answers->lock);
	if (answers->gone)
		return ERR_PTR(-EIO);
	answer = list_first_entry_or_null(&answers->list, struct devx_answer, list);
	if (!answer)
		return ERR_PTR(-EAGAIN);
	if (sizeof(answer->told) + answer->length > room)
		return ERR_PTR(-ENOSPC);
	list_del(&answer->list);
	answers->bytes -= answer->length;
	return answer;
}

static ssize_t devx_answers_read(struct file *file, char __user *to, size_t room, loff_t *pos)
{
	struct devx_answers *answers = file->private_data;
	struct devx_answer *answer;
	ssize_t size;

	while ((answer = devx_answers_take(answers, room)) == ERR_PTR(-EAGAIN)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(answers->wait, devx_answers_have_news(answers)))
			return -ERESTARTSYS;
	}
	if (IS_ERR(answer))
		return PTR_ERR(answer);
	size = sizeof(answer->told) + answer->length;
	if (copy_to_user(to, &answer->told, size))
		size = -EFAULT;
	kvfree(answer);
	return size;
}

static __poll_t devx_answers_poll(struct file *file, struct poll_table_struct *wait)
{
	struct devx_answers *answers = file->private_data;

	poll_wait(file, &answers->wait, wait);
	if (!devx_answers_have_news(answers))
		return 0;
	return READ_ONCE(answers->gone) ? EPOLLIN | EPOLLRDNORM | EPOLLRDHUP :
					  EPOLLIN | EPOLLRDNORM;
}

static const struct file_operations devx_answers_fops = {
	.owner = THIS_MODULE,
	.read = devx_answers_read,
	.poll = devx_answers_poll,
	.release = uverbs_uobject_fd_release,
};

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct devx_answers),
						 devx_answers_cleanup, &devx_answers_fops,
						 "[pinion_devx_answers]", O_RDONLY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC));

const struct uapi_definition pinion_devx_async_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(MLX5_IB_OBJECT_DEVX_OBJ, &devx_async_methods),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD),
	{},
};
