// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that a verb names by its address. It is pinned as a umem that no DEVX command can find,
 * and mapped into the kernel completely.
 */
#include "device.h"
#include "mlx5.h"
#include "user.h"

/* The owner of all these umems. It is no context, so no command can name them. */
static const char place_owner;

static int place_pin(struct pinion_view *place, struct ib_ucontext *context,
		     const struct pinion_umem_want *want, u32 align)
{
	struct pinion_umems *umems = &to_pinion_dev(context->device)->umems;
	struct pinion_umem *umem;
	int err;

	umem = pinion_umem_create(umems, context->device, &place_owner, want);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	pinion_umem_publish(umems, umem);
	pinion_umem_use(umems, umem->id, &place_owner);
	err = pinion_view_make(place, umem, 0, want->length, align, PINION_VIEW_WRITE);
	if (err) {
		pinion_umem_unuse(umem);
		pinion_umem_destroy(umems, umem);
	}
	return err;
}

int pinion_mlx5_place_make(struct pinion_view *place, struct ib_ucontext *context, u64 addr,
			   u64 length, u32 align)
{
	const struct pinion_umem_want want = {
		.addr = addr,
		.length = length,
		.page_sizes = U64_MAX,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	struct pinion_user *user = to_pinion_ucontext(context)->user;
	struct pinion_dev *dev = to_pinion_dev(context->device);
	int err;

	if (addr % align)
		return -EINVAL;
	err = pinion_count_verb(dev, user, PINION_COUNT_UMEM);
	if (err)
		return err;
	err = place_pin(place, context, &want, align);
	if (err)
		pinion_count_out(dev, user, PINION_COUNT_UMEM);
	return err;
}

void pinion_mlx5_place_end(struct pinion_view *place, struct ib_ucontext *context)
{
	struct pinion_dev *dev = to_pinion_dev(context->device);
	struct pinion_umem *umem = place->umem;

	if (!place->at)
		return;
	pinion_view_end(place);
	WARN_ON(pinion_umem_destroy(&dev->umems, umem));
	pinion_count_out(dev, to_pinion_ucontext(context)->user, PINION_COUNT_UMEM);
}
