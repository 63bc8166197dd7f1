/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What DEVX commands make: keys, protection domains, queues, and counters of
 * flows, of which there are none here.
 */
#ifndef PINION_VERBS_DEVX_OBJ_H
#define PINION_VERBS_DEVX_OBJ_H

#include "../logic/devx_cmd.h"
#include "../mem/mkey.h"
#include "device.h"
#include "pd.h"

struct pinion_devx_events;
struct pinion_devx_pair;
struct pinion_devx_pool;
struct pinion_devx_queue;
struct pinion_ucontext;

struct pinion_devx_obj {
	struct pinion_dev *dev;
	struct pinion_user *user;	/* of the file it is made by */
	struct pinion_ucontext *ucontext;	/* which is this */
	u16 opcode;			/* of the command that made it */
	struct pinion_pd *pd;		/* it, or what the key is in */
	struct pinion_mkey mkey;
	struct pinion_devx_queue *queue;
	struct pinion_devx_pair *pair;
	struct pinion_devx_pool *pool;
	u32 handle;
};

/*
 * Make @obj, of a known device, as @cmd says, for nobody to use yet, and put its number
 * into the answer. Return: an enum pinion_devx_refusal, or a negative errno.
 */
int pinion_devx_make(struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd,
		     struct ib_ucontext *owner, u8 *out);

/* Never fails: nothing that can is left to do. */
void pinion_devx_publish(struct pinion_devx_obj *obj, const void *owner);

/*
 * Answer a command about @obj, into a zeroed buffer that is long enough. Return: an enum
 * pinion_devx_refusal, or -EINVAL if it is about another one.
 */
int pinion_devx_query(const struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd,
		      u8 *out);

/* Likewise, of a command that changes @obj. */
int pinion_devx_modify(struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd);

/* What happens to it; NULL: nothing does. */
struct pinion_devx_events *pinion_devx_obj_events(struct pinion_devx_obj *obj);
/* From here on completions that its user waits for are told; only a queue of them has any. */
void pinion_devx_obj_listen(struct pinion_devx_obj *obj);

/* -EBUSY, and nothing happened, while something else needs it. */
int pinion_devx_end(struct pinion_devx_obj *obj);

#endif
