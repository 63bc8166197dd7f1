// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * File descriptors for events of objects, and for answers to asynchronous queries. The
 * data that is read is passed through unchanged.
 */
#include <stdlib.h>
#include <unistd.h>

#include "dv.h"

/* Make a new file descriptor; the program gets a pointer to the object's union. */
static struct dv_object *new_file(struct ibv_context *context,
				  struct dv_call *call, uint16_t attr)
{
	struct ib_uverbs_attr *handle = dv_handle(call, attr, 0);
	struct dv_object *object = calloc(1, sizeof(*object));
	int err;

	if (!object)
		return dv_null(ENOMEM);
	err = dv_issue(context, call);
	if (err) {
		free(object);
		return dv_null(err);
	}
	object->context = context;
	object->file.fd = handle->data_s64;
	dv_remember(object);
	return object;
}

static void end_file(struct dv_object *object)
{
	close(object->file.fd);
	dv_forget(object);
	free(object);
}

/* ---------------------------------------------------------------- answers */

static struct mlx5dv_devx_cmd_comp *create_comp(struct ibv_context *context)
{
	struct dv_object *object;
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
		 MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC);
	object = new_file(context, &call,
			  MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE);
	return object ? &object->comp : NULL;
}

EXPORT struct mlx5dv_devx_cmd_comp *
mlx5dv_devx_create_cmd_comp(struct ibv_context *context)
{
	__typeof__(&mlx5dv_devx_create_cmd_comp) real;

	if (dv_is_ours(context))
		return create_comp(context);
	real = DV_REAL(mlx5dv_devx_create_cmd_comp, "MLX5_1.9");
	return real ? real(context) : dv_null(EOPNOTSUPP);
}

EXPORT void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp)
{
	struct dv_object *object = dv_find(cmd_comp);
	__typeof__(&mlx5dv_devx_destroy_cmd_comp) real;

	if (object) {
		end_file(object);
		return;
	}
	real = DV_REAL(mlx5dv_devx_destroy_cmd_comp, "MLX5_1.9");
	if (real)
		real(cmd_comp);
}

static int query_async(struct dv_object *object, const void *in, size_t inlen,
		       uint64_t outlen, uint64_t wr_id, int fd)
{
	struct dv_call call;

	if (inlen > UINT16_MAX || outlen > UINT16_MAX)
		return EINVAL;
	dv_begin(&call, MLX5_IB_OBJECT_DEVX_OBJ,
		 MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY);
	dv_handle(&call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE,
		  object->handle);
	dv_in(&call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, in, inlen);
	dv_in(&call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, &outlen,
	      sizeof(outlen));
	dv_in(&call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, &wr_id,
	      sizeof(wr_id));
	dv_handle(&call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, fd);
	return dv_issue(object->context, &call);
}

EXPORT int mlx5dv_devx_obj_query_async(struct mlx5dv_devx_obj *obj,
				       const void *in, size_t inlen,
				       size_t outlen, uint64_t wr_id,
				       struct mlx5dv_devx_cmd_comp *cmd_comp)
{
	struct dv_object *object = dv_find(obj);
	__typeof__(&mlx5dv_devx_obj_query_async) real;

	if (object)
		return query_async(object, in, inlen, outlen, wr_id,
				   cmd_comp->fd);
	real = DV_REAL(mlx5dv_devx_obj_query_async, "MLX5_1.9");
	return real ? real(obj, in, inlen, outlen, wr_id, cmd_comp) :
		      EOPNOTSUPP;
}

/* Works for libmlx5's objects, too: they begin with the fd as well. */
EXPORT int
mlx5dv_devx_get_async_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp,
			       struct mlx5dv_devx_async_cmd_hdr *cmd_resp,
			       size_t cmd_resp_len)
{
	ssize_t length = read(cmd_comp->fd, cmd_resp, cmd_resp_len);

	return length < 0 ? errno : 0;
}

/* ----------------------------------------------------------------- events */

static struct mlx5dv_devx_event_channel *
create_channel(struct ibv_context *context, uint32_t flags)
{
	struct dv_object *object;
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
		 MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
	dv_in(&call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, &flags,
	      sizeof(flags));
	object = new_file(context, &call,
			  MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE);
	return object ? &object->channel : NULL;
}

EXPORT struct mlx5dv_devx_event_channel *mlx5dv_devx_create_event_channel(
	struct ibv_context *context,
	enum mlx5dv_devx_create_event_channel_flags flags)
{
	__typeof__(&mlx5dv_devx_create_event_channel) real;

	if (dv_is_ours(context))
		return create_channel(context, flags);
	real = DV_REAL(mlx5dv_devx_create_event_channel, "MLX5_1.11");
	return real ? real(context, flags) : dv_null(EOPNOTSUPP);
}

EXPORT void
mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *channel)
{
	struct dv_object *object = dv_find(channel);
	__typeof__(&mlx5dv_devx_destroy_event_channel) real;

	if (object) {
		end_file(object);
		return;
	}
	real = DV_REAL(mlx5dv_devx_destroy_event_channel, "MLX5_1.11");
	if (real)
		real(channel);
}

/* Subscribe to @types of events of @obj, with a cookie that is read, or to an eventfd. */
static int subscribe(struct dv_object *channel, struct mlx5dv_devx_obj *obj,
		     uint16_t size, const uint16_t *types,
		     const uint64_t *cookie, const uint32_t *fd)
{
	struct dv_object *object = obj ? dv_find(obj) : NULL;
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX,
		 MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
	dv_handle(&call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE,
		  channel->file.fd);
	if (object)
		dv_handle(&call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE,
			  object->handle);
	dv_in(&call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, types,
	      size);
	if (cookie)
		dv_in(&call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, cookie,
		      sizeof(*cookie));
	if (fd)
		dv_in(&call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, fd,
		      sizeof(*fd));
	return dv_issue(channel->context, &call);
}

EXPORT int mlx5dv_devx_subscribe_devx_event(
	struct mlx5dv_devx_event_channel *channel, struct mlx5dv_devx_obj *obj,
	uint16_t events_sz, uint16_t events_num[], uint64_t cookie)
{
	struct dv_object *object = dv_find(channel);
	__typeof__(&mlx5dv_devx_subscribe_devx_event) real;

	if (object)
		return subscribe(object, obj, events_sz, events_num, &cookie,
				 NULL);
	real = DV_REAL(mlx5dv_devx_subscribe_devx_event, "MLX5_1.11");
	return real ? real(channel, obj, events_sz, events_num, cookie) :
		      EOPNOTSUPP;
}

EXPORT int
mlx5dv_devx_subscribe_devx_event_fd(struct mlx5dv_devx_event_channel *channel,
				    int fd, struct mlx5dv_devx_obj *obj,
				    uint16_t event_num)
{
	struct dv_object *object = dv_find(channel);
	__typeof__(&mlx5dv_devx_subscribe_devx_event_fd) real;
	uint32_t number = fd;

	if (object)
		return subscribe(object, obj, sizeof(event_num), &event_num,
				 NULL, &number);
	real = DV_REAL(mlx5dv_devx_subscribe_devx_event_fd, "MLX5_1.11");
	return real ? real(channel, fd, obj, event_num) : EOPNOTSUPP;
}

/* Works for libmlx5's objects, too: they begin with the fd as well. */
EXPORT ssize_t mlx5dv_devx_get_event(
	struct mlx5dv_devx_event_channel *channel,
	struct mlx5dv_devx_async_event_hdr *event_data, size_t event_resp_len)
{
	return read(channel->fd, event_data, event_resp_len);
}
