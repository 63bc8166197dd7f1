// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell pages (UARs) as a uverbs object, with mlx5's own numbers for object, methods and
 * attributes. A page can be mapped, exported, and named by commands. path/bell.c polls the doorbell
 * records of queues; a page only for queue pairs that were created without a record for sends. A
 * store to a page while records are polled seldom has them polled at once (path/trap.h).
 */
#define UVERBS_MODULE_NAME pinion

#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "device.h"
#include "devx_name.h"
#include "devx_uar.h"
#include "mmap.h"
#include "ops.h"
#include "user.h"

struct uar {
	struct pinion_mapping map;
	struct pinion_user *user;	/* a reference: the mapping may outlive the file */
	struct pinion_devx_name name;	/* valid while it has a handle; used by a queue pair */
};

/* Offset of the doorbell that is polled. */
#define BELL_AT		0x600

static int uar_count(struct uar *uar, struct pinion_user *user)
{
	int err = pinion_count_verb(user->dev, user, PINION_COUNT_UAR);

	if (err)
		return err;
	pinion_user_hold(user);
	uar->user = user;
	return 0;
}

static void uar_uncount(struct uar *uar)
{
	pinion_count_out(uar->user->dev, uar->user, PINION_COUNT_UAR);
	pinion_user_put(uar->user);
}

static void uar_release(struct pinion_mapping *map)
{
	struct uar *uar = container_of(map, struct uar, map);

	uar_uncount(uar);
	vfree(map->area);
	kfree(uar);
}

/* -EBUSY while a queue pair uses the page; then nothing has changed. */
static int uar_end(struct uar *uar)
{
	int err;

	err = pinion_devx_name_end(&uar->user->dev->devx_uars, &uar->name);
	if (!err)
		pinion_mapping_end(&uar->map);
	return err;
}

static struct uar *uar_make(struct ib_ucontext *context)
{
	struct pinion_dev *dev = to_pinion_dev(context->device);
	struct uar *uar;
	int err = -ENOMEM;

	uar = kzalloc(sizeof(*uar), GFP_KERNEL_ACCOUNT);
	if (!uar)
		return ERR_PTR(-ENOMEM);
	uar->map.trap = pinion_bells_trap(&to_pinion_ucontext(context)->user->bells);
	if (IS_ERR(uar->map.trap)) {
		err = PTR_ERR(uar->map.trap);
		goto err_free;
	}
	uar->map.size = PAGE_SIZE;
	uar->map.release = uar_release;
	uar->map.area = __vmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!uar->map.area)
		goto err_free;
	err = uar_count(uar, to_pinion_ucontext(context)->user);
	if (err)
		goto err_free_area;
	err = pinion_devx_name_take(&dev->devx_uars, 2 * PINION_MAX_UAR, &uar->name);
	if (err)
		goto err_uncount;
	err = pinion_mapping_offer(&uar->map, context);
	if (err)
		goto err_end_name;
	return uar;

err_end_name:
	pinion_devx_name_end(&dev->devx_uars, &uar->name);
err_uncount:
	uar_uncount(uar);
err_free_area:
	vfree(uar->map.area);
err_free:
	kfree(uar);
	return ERR_PTR(err);
}

static int uar_answer(struct uar *uar, struct uverbs_attr_bundle *attrs)
{
	u64 offset = pinion_mapping_offset(&uar->map.entry);
	u32 length = uar->map.size;
	int err;

	err = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->name.number,
			     sizeof(uar->name.number));
	if (err)
		return err;
	err = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset,
			     sizeof(offset));
	if (err)
		return err;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
			      sizeof(length));
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_UAR_OBJ_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	struct ib_ucontext *context = uobject->context;
	enum mlx5_ib_uapi_uar_alloc_type type;
	struct uar *uar;
	int err;

	err = uverbs_get_const(&type, attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);
	if (err)
		return err;
	if (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return -EOPNOTSUPP;
	uar = uar_make(context);
	if (IS_ERR(uar))
		return PTR_ERR(uar);
	err = uar_answer(uar, attrs);
	if (err) {
		uar_end(uar);
		return err;
	}
	pinion_devx_name_show(&uar->user->dev->devx_uars, &uar->name, context);
	uobject->object = uar;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE,
					    MLX5_IB_OBJECT_UAR, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE,
						 enum mlx5_ib_uapi_uar_alloc_type,
						 UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET,
						UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

static int uar_cleanup(struct ib_uobject *uobject, enum rdma_remove_reason why,
		       struct uverbs_attr_bundle *attrs)
{
	return uar_end(uobject->object);
}

bool pinion_devx_bell_use(struct pinion_dev *dev, u32 number, const void *owner,
			  struct pinion_devx_bell *bell)
{
	struct uar *uar;

	bell->page = pinion_devx_name_use_alone(&dev->devx_uars, number, owner);
	if (!bell->page)
		return false;
	uar = container_of(bell->page, struct uar, name);
	bell->at = uar->map.area + BELL_AT;
	return true;
}

void pinion_devx_bell_unuse(struct pinion_dev *dev, struct pinion_devx_bell *bell)
{
	if (bell->page)
		pinion_devx_name_unuse(&dev->devx_uars, bell->page);
}

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_UAR_OBJ_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_UAR,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

static int UVERBS_HANDLER(PINION_METHOD_UAR_EXPORT)(struct uverbs_attr_bundle *attrs)
{
	struct uar *uar = uverbs_attr_get_obj(attrs, PINION_ATTR_UAR_EXPORT_HANDLE);

	if (IS_ERR(uar))
		return PTR_ERR(uar);
	return pinion_answer_export(attrs, PINION_ATTR_UAR_EXPORT_FD, uar->map.area,
				    uar->map.size);
}

DECLARE_UVERBS_NAMED_METHOD(PINION_METHOD_UAR_EXPORT,
			    UVERBS_ATTR_IDR(PINION_ATTR_UAR_EXPORT_HANDLE, MLX5_IB_OBJECT_UAR,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PINION_ATTR_UAR_EXPORT_FD,
						UVERBS_ATTR_TYPE(s32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_UAR, UVERBS_TYPE_ALLOC_IDR(uar_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_DESTROY),
			    &UVERBS_METHOD(PINION_METHOD_UAR_EXPORT));

const struct uapi_definition pinion_devx_uar_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_UAR),
	{},
};
