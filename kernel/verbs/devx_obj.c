// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates, queries, changes and destroys objects of DEVX commands. An object is destroyed by its
 * uverbs handle; its number is used by other commands.
 */
#include <linux/slab.h>

#include "devx_cq.h"
#include "devx_obj.h"
#include "devx_qp.h"
#include "devx_rmp.h"
#include "user.h"

static int devx_make_mkey(struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd,
			  const void *owner)
{
	struct pinion_dev *dev = obj->dev;
	int result, err;

	obj->pd = pinion_pd_use(dev, cmd->mkey.pdn, owner);
	if (!obj->pd)
		return PINION_DEVX_NO_SUCH_PD;
	err = pinion_count_in(dev, obj->user, PINION_COUNT_MR);
	result = err == -EDQUOT ? PINION_DEVX_USER_KEYS : PINION_DEVX_DEVICE_KEYS;
	if (err)
		goto err_unuse_pd;
	result = pinion_mkey_make(&obj->mkey, &dev->node.keys, &dev->umems, owner,
				  &obj->pd->ibpd, &cmd->mkey, cmd->klms);
	if (result)
		goto err_count_out;
	return 0;

err_count_out:
	pinion_count_out(dev, obj->user, PINION_COUNT_MR);
err_unuse_pd:
	pinion_pd_unuse(obj->pd);
	return result;
}

static int devx_end_mkey(struct pinion_devx_obj *obj)
{
	int err;

	err = pinion_mkey_end(&obj->mkey);
	if (err)
		return err;
	pinion_count_out(obj->dev, obj->user, PINION_COUNT_MR);
	pinion_pd_unuse(obj->pd);
	return 0;
}

static int devx_make_pd(struct pinion_devx_obj *obj)
{
	struct pinion_pd *pd;
	int err;

	pd = kzalloc(sizeof(*pd), GFP_KERNEL_ACCOUNT);
	if (!pd)
		return -ENOMEM;
	pd->ibpd.device = &obj->dev->ibdev;
	err = pinion_pd_number(obj->dev, pd, obj->user);
	if (err)
		goto err_free;
	/* Reserve its entry in dev->pds now. Without an owner no command finds it. */
	err = pinion_pd_show(obj->dev, pd, NULL);
	if (err)
		goto err_end;
	obj->pd = pd;
	return 0;

err_end:
	pinion_pd_end(obj->dev, pd);
err_free:
	kfree(pd);
	return err;
}

static int devx_end_pd(struct pinion_devx_obj *obj)
{
	int err;

	err = pinion_pd_end(obj->dev, obj->pd);
	if (!err)
		kfree(obj->pd);
	return err;
}

static u32 devx_obj_number(const struct pinion_devx_obj *obj)
{
	switch (obj->opcode) {
	case PINION_DEVX_CREATE_MKEY:
		return obj->mkey.key->index;
	case PINION_DEVX_ALLOC_PD:
		return obj->pd->pdn;
	case PINION_DEVX_CREATE_CQ:
		return obj->queue->name.number;
	case PINION_DEVX_CREATE_QP:
		return obj->pair->qp.ibqp.qp_num;
	case PINION_DEVX_CREATE_RMP:
		return obj->pool->name.number;
	}
	/* A flow counter: any number will do, as it is used by its handle only. */
	return (obj->handle + 1) & 0xffffff;
}

int pinion_devx_make(struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd,
		     struct ib_ucontext *owner, u8 *out)
{
	int result = PINION_DEVX_WRONG_CALL;

	obj->opcode = cmd->opcode;
	switch (cmd->opcode) {
	case PINION_DEVX_CREATE_MKEY:
		result = devx_make_mkey(obj, cmd, owner);
		break;
	case PINION_DEVX_ALLOC_PD:
		result = devx_make_pd(obj);
		break;
	case PINION_DEVX_CREATE_CQ:
		result = pinion_devx_cq_make(obj->dev, obj->user, owner, &cmd->cq, &obj->queue);
		break;
	case PINION_DEVX_CREATE_QP:
		result = pinion_devx_qp_make(obj->dev, owner, &cmd->qp, &obj->pair);
		break;
	case PINION_DEVX_CREATE_RMP:
		result = pinion_devx_rmp_make(obj->dev, owner, &cmd->rmp, &obj->pool);
		break;
	case PINION_DEVX_ALLOC_FLOW_COUNTER:
		result = PINION_DEVX_DONE;
		break;
	}
	if (!result)
		pinion_devx_put_number(out, devx_obj_number(obj));
	return result;
}

void pinion_devx_publish(struct pinion_devx_obj *obj, const void *owner)
{
	if (obj->opcode == PINION_DEVX_CREATE_MKEY)
		pinion_mkey_enable(&obj->mkey);
	else if (obj->opcode == PINION_DEVX_ALLOC_PD)
		pinion_pd_show(obj->dev, obj->pd, owner);
	else if (obj->opcode == PINION_DEVX_CREATE_CQ)
		pinion_devx_name_show(&obj->dev->devx_cqs, &obj->queue->name, owner);
	else if (obj->opcode == PINION_DEVX_CREATE_RMP)
		pinion_devx_name_show(&obj->dev->devx_rmps, &obj->pool->name, owner);
}

/* Queries, and the command that creates the object that they are about. */
static const struct {
	u16 query;
	u16 made_by;
} queries[] = {
	{ PINION_DEVX_QUERY_MKEY,		PINION_DEVX_CREATE_MKEY },
	{ PINION_DEVX_QUERY_CQ,			PINION_DEVX_CREATE_CQ },
	{ PINION_DEVX_QUERY_QP,			PINION_DEVX_CREATE_QP },
	{ PINION_DEVX_QUERY_RMP,		PINION_DEVX_CREATE_RMP },
	{ PINION_DEVX_QUERY_FLOW_COUNTER,	PINION_DEVX_ALLOC_FLOW_COUNTER },
};

int pinion_devx_query(const struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd,
		      u8 *out)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(queries); i++) {
		if (queries[i].query != cmd->opcode)
			continue;
		if (queries[i].made_by != obj->opcode || cmd->number != devx_obj_number(obj))
			return -EINVAL;
		/* For a flow counter the answer stays 0. */
		if (obj->opcode == PINION_DEVX_CREATE_MKEY)
			pinion_devx_put_mkey(out, &obj->mkey.asked);
		else if (obj->opcode == PINION_DEVX_CREATE_CQ)
			pinion_devx_cq_tell(obj->queue, out);
		else if (obj->opcode == PINION_DEVX_CREATE_QP)
			pinion_devx_qp_tell(obj->pair, out);
		else if (obj->opcode == PINION_DEVX_CREATE_RMP)
			pinion_devx_rmp_tell(obj->pool, out);
		return PINION_DEVX_DONE;
	}
	return PINION_DEVX_WRONG_CALL;
}

/* The command that creates the objects that @opcode changes. */
static u16 devx_made_by(u16 opcode)
{
	switch (opcode) {
	case PINION_DEVX_MODIFY_CQ:
		return PINION_DEVX_CREATE_CQ;
	case PINION_DEVX_MODIFY_RMP:
		return PINION_DEVX_CREATE_RMP;
	}
	return PINION_DEVX_CREATE_QP;
}

int pinion_devx_may_modify(const struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd)
{
	if (obj->opcode != devx_made_by(cmd->opcode))
		return PINION_DEVX_WRONG_CALL;
	return cmd->number == devx_obj_number(obj) ? PINION_DEVX_DONE : -EINVAL;
}

int pinion_devx_modify(struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd)
{
	if (obj->opcode == PINION_DEVX_CREATE_QP)
		return pinion_devx_qp_change(obj->dev, obj->pair, cmd->opcode, &cmd->qp);
	if (obj->opcode == PINION_DEVX_CREATE_RMP)
		return pinion_devx_rmp_change(obj->pool, &cmd->rmp_change);
	pinion_devx_cq_change(obj->queue, &cmd->cq_change);
	return PINION_DEVX_DONE;
}

struct pinion_devx_events *pinion_devx_obj_events(struct pinion_devx_obj *obj)
{
	switch (obj->opcode) {
	case PINION_DEVX_CREATE_CQ:
		return &obj->queue->events;
	case PINION_DEVX_CREATE_QP:
		return &obj->pair->events;
	case PINION_DEVX_CREATE_RMP:
		return &obj->pool->events;
	}
	return NULL;
}

void pinion_devx_obj_listen(struct pinion_devx_obj *obj)
{
	pinion_devx_cq_listen(obj->queue, obj->ucontext);
}

int pinion_devx_end(struct pinion_devx_obj *obj)
{
	switch (obj->opcode) {
	case PINION_DEVX_CREATE_MKEY:
		return devx_end_mkey(obj);
	case PINION_DEVX_ALLOC_PD:
		return devx_end_pd(obj);
	case PINION_DEVX_CREATE_CQ:
		return pinion_devx_cq_end(obj->dev, obj->ucontext, obj->queue);
	case PINION_DEVX_CREATE_QP:
		pinion_devx_qp_end(obj->dev, obj->pair);
		return 0;
	case PINION_DEVX_CREATE_RMP:
		return pinion_devx_rmp_end(obj->dev, obj->ucontext, obj->pool);
	}
	return 0;
}
