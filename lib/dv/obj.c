// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX commands and the objects they make. Commands and answers are passed through
 * unread. EREMOTEIO means that the command was refused: the answer has the status and
 * the syndrome.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dv.h"

/* The shortest command, in bytes. */
enum { HEAD = 16, LONGEST = UINT16_MAX };

struct command {
	const void *in;
	size_t inlen;
	void *out;
	size_t outlen;
};

static int issue(struct ibv_context *context, struct dv_call *call,
		 uint16_t in_attr, uint16_t out_attr,
		 const struct command *command)
{
	if (command->inlen < HEAD || command->outlen < HEAD ||
	    command->inlen > LONGEST || command->outlen > LONGEST)
		return EINVAL;
	dv_in(call, in_attr, command->in, command->inlen);
	dv_out(call, out_attr, command->out, command->outlen);
	return dv_issue(context, call);
}

static int general(struct ibv_context *context, const struct command *command)
{
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER);
	return issue(context, &call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
		     MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, command);
}

EXPORT int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in,
				   size_t inlen, void *out, size_t outlen)
{
	__typeof__(&mlx5dv_devx_general_cmd) real;

	if (dv_is_ours(context))
		return general(context,
			       &(struct command){ in, inlen, out, outlen });
	real = DV_REAL(mlx5dv_devx_general_cmd, "MLX5_1.7");
	return real ? real(context, in, inlen, out, outlen) : EOPNOTSUPP;
}

static int query_eqn(struct ibv_context *context, uint32_t vector,
		     uint32_t *eqn)
{
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN);
	dv_in(&call, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, &vector,
	      sizeof(vector));
	dv_out(&call, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, eqn, sizeof(*eqn));
	return dv_issue(context, &call);
}

EXPORT int mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector,
				 uint32_t *eqn)
{
	__typeof__(&mlx5dv_devx_query_eqn) real;

	if (dv_is_ours(context))
		return query_eqn(context, vector, eqn);
	real = DV_REAL(mlx5dv_devx_query_eqn, "MLX5_1.7");
	return real ? real(context, vector, eqn) : EOPNOTSUPP;
}

static struct mlx5dv_devx_obj *create(struct ibv_context *context,
				      const struct command *command)
{
	struct ib_uverbs_attr *handle;
	struct dv_object *object;
	struct dv_call call;
	int err;

	object = calloc(1, sizeof(*object));
	if (!object)
		return dv_null(ENOMEM);
	dv_begin(&call, MLX5_IB_OBJECT_DEVX_OBJ,
		 MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	handle = dv_handle(&call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
	err = issue(context, &call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
		    MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, command);
	if (err) {
		free(object);
		return dv_null(err);
	}
	object->context = context;
	object->handle = handle->data;
	dv_remember(object);
	return (struct mlx5dv_devx_obj *)object;
}

EXPORT struct mlx5dv_devx_obj *
mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
		       size_t inlen, void *out, size_t outlen)
{
	__typeof__(&mlx5dv_devx_obj_create) real;

	if (dv_is_ours(context))
		return create(context,
			      &(struct command){ in, inlen, out, outlen });
	real = DV_REAL(mlx5dv_devx_obj_create, "MLX5_1.7");
	return real ? real(context, in, inlen, out, outlen) :
		      dv_null(EOPNOTSUPP);
}

static int query(struct dv_object *object, const struct command *command)
{
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY);
	dv_handle(&call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, object->handle);
	return issue(object->context, &call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
		     MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, command);
}

EXPORT int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in,
				 size_t inlen, void *out, size_t outlen)
{
	struct dv_object *object = dv_find(obj);
	__typeof__(&mlx5dv_devx_obj_query) real;

	if (object)
		return query(object,
			     &(struct command){ in, inlen, out, outlen });
	real = DV_REAL(mlx5dv_devx_obj_query, "MLX5_1.7");
	return real ? real(obj, in, inlen, out, outlen) : EOPNOTSUPP;
}

static int modify(struct dv_object *object, const struct command *command)
{
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX_OBJ,
		 MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
	dv_handle(&call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, object->handle);
	return issue(object->context, &call,
		     MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
		     MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, command);
}

EXPORT int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in,
				  size_t inlen, void *out, size_t outlen)
{
	struct dv_object *object = dv_find(obj);
	__typeof__(&mlx5dv_devx_obj_modify) real;

	if (object)
		return modify(object,
			      &(struct command){ in, inlen, out, outlen });
	real = DV_REAL(mlx5dv_devx_obj_modify, "MLX5_1.7");
	return real ? real(obj, in, inlen, out, outlen) : EOPNOTSUPP;
}

static int destroy(struct dv_object *object)
{
	struct dv_call call;
	int err;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX_OBJ,
		 MLX5_IB_METHOD_DEVX_OBJ_DESTROY);
	dv_handle(&call, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, object->handle);
	err = dv_issue(object->context, &call);
	if (err)
		return err;
	dv_forget(object);
	free(object);
	return 0;
}

EXPORT int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	struct dv_object *object = dv_find(obj);
	__typeof__(&mlx5dv_devx_obj_destroy) real;

	if (object)
		return destroy(object);
	real = DV_REAL(mlx5dv_devx_obj_destroy, "MLX5_1.7");
	return real ? real(obj) : EOPNOTSUPP;
}

/* ------------------------------------------- in another view of the context */

EXPORT int mlx5dv_devx_obj_export(struct mlx5dv_devx_obj *obj, void *data)
{
	struct dv_object *object = dv_find(obj);
	__typeof__(&mlx5dv_devx_obj_export) real;

	if (object) {
		memcpy(data, &object->handle, sizeof(object->handle));
		return 0;
	}
	real = DV_REAL(mlx5dv_devx_obj_export, "MLX5_1.27");
	return real ? real(obj, data) : EOPNOTSUPP;
}

EXPORT struct mlx5dv_devx_obj *
mlx5dv_devx_obj_import(struct ibv_context *context, void *data)
{
	__typeof__(&mlx5dv_devx_obj_import) real;
	struct dv_object *object;

	if (!dv_is_ours(context)) {
		real = DV_REAL(mlx5dv_devx_obj_import, "MLX5_1.27");
		return real ? real(context, data) : dv_null(EOPNOTSUPP);
	}
	object = calloc(1, sizeof(*object));
	if (!object)
		return dv_null(ENOMEM);
	object->context = context;
	memcpy(&object->handle, data, sizeof(object->handle));
	dv_remember(object);
	return (struct mlx5dv_devx_obj *)object;
}

/* Frees only this process's object. */
EXPORT void mlx5dv_devx_obj_unimport(struct mlx5dv_devx_obj *obj)
{
	struct dv_object *object = dv_find(obj);
	__typeof__(&mlx5dv_devx_obj_unimport) real;

	if (object) {
		dv_forget(object);
		free(object);
		return;
	}
	real = DV_REAL(mlx5dv_devx_obj_unimport, "MLX5_1.27");
	if (real)
		real(obj);
}

/* Raise a field of @sizes to what ours need, if it lies within the @len bytes of the program. */
static void at_least(void *sizes, size_t len, size_t offset, uint32_t ours)
{
	uint32_t *size = sizes + offset;

	if (offset + sizeof(*size) <= len && *size < ours)
		*size = ours;
}

/*
 * The device is not known yet, so there must be room for both kinds. A newer libmlx5 and program
 * may know more fields than we do.
 */
EXPORT void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes,
				     size_t sizes_len)
{
	__typeof__(&_mlx5dv_get_export_sizes) real =
		DV_REAL(_mlx5dv_get_export_sizes, "MLX5_1.27");

	memset(sizes, 0, sizes_len);
	if (real)
		real(sizes, sizes_len);
	at_least(sizes, sizes_len,
		 offsetof(struct mlx5dv_export_sizes, devx_umem_attrs_size),
		 2 * sizeof(uint32_t));
	at_least(sizes, sizes_len,
		 offsetof(struct mlx5dv_export_sizes, devx_obj_attrs_size),
		 sizeof(uint32_t));
}
