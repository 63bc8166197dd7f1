/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects that DEVX commands create: keys, protection domains, queues, and flow counters (which
 * stay 0, as there are no flows).
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
	struct pinion_user *user;	/* of @ucontext */
	struct pinion_ucontext *ucontext;	/* the context it was created in */
	u16 opcode;			/* of the command that created it; tells its kind */
	struct pinion_pd *pd;		/* the domain itself, or that of a key */
	struct pinion_mkey mkey;
	struct pinion_devx_queue *queue;
	struct pinion_devx_pair *pair;
	struct pinion_devx_pool *pool;
	u32 handle;
};

/*
 * Create @obj as @cmd says, and write its number to the answer. Other commands cannot name it yet.
 * The caller has set dev, ucontext, user and handle. Return: an enum pinion_devx_refusal, or a
 * negative errno.
 */
int pinion_devx_make(struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd,
		     struct ib_ucontext *owner, u8 *out);

/* Let other commands of @owner name @obj. Cannot fail. */
void pinion_devx_publish(struct pinion_devx_obj *obj, const void *owner);

/*
 * Execute a query and write its answer to @out, which is zeroed and long enough. Return: an enum
 * pinion_devx_refusal, or -EINVAL if @cmd is about another object.
 */
int pinion_devx_query(const struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd,
		      u8 *out);

/* Is @cmd a command that changes @obj? Return: as pinion_devx_query(). */
int pinion_devx_may_modify(const struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd);
/* Execute it, if pinion_devx_may_modify() has returned 0. Return: an enum pinion_devx_refusal. */
int pinion_devx_modify(struct pinion_devx_obj *obj, const struct pinion_devx_cmd *cmd);

/* The events of a queue; NULL for other objects. */
struct pinion_devx_events *pinion_devx_obj_events(struct pinion_devx_obj *obj);
/* @obj is a completion queue: from here on raise events of completions. */
void pinion_devx_obj_listen(struct pinion_devx_obj *obj);

/* Destroy @obj. -EBUSY while another object needs it; then nothing has changed. */
int pinion_devx_end(struct pinion_devx_obj *obj);

#endif
