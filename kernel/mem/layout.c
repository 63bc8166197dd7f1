// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layouts: keys whose ranges are set by work requests. Finds the range of an offset, and changes
 * the ranges. Takes no reference to the ranges' regions and accesses no memory.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "key.h"
#include "layout.h"

#define LAYOUT_RIGHTS (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | \
		       IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

static struct pinion_layout *layout_alloc_one(u32 most)
{
	struct pinion_layout *layout;

	layout = kzalloc(struct_size(layout, range, most), GFP_KERNEL_ACCOUNT);
	if (layout)
		layout->most = most;
	return layout;
}

struct pinion_layout *pinion_layout_alloc(u32 most)
{
	struct pinion_layout *layout = layout_alloc_one(most);

	if (!layout)
		return NULL;
	layout->other = layout_alloc_one(most);
	if (!layout->other) {
		kfree(layout);
		return NULL;
	}
	layout->other->other = layout;
	return layout;
}

void pinion_layout_free(struct pinion_layout *layout)
{
	if (layout)
		kfree(layout->other);
	kfree(layout);
}

/* Find the range that has the byte at @within, by bisection. It is never an empty range. */
static u32 layout_find(const struct pinion_layout *layout, u64 within)
{
	u32 low = 0, end = layout->num;

	while (end - low > 1) {
		u32 middle = low + (end - low) / 2;

		if (layout->range[middle].start <= within)
			low = middle;
		else
			end = middle;
	}
	return low;
}

void pinion_layout_find(const struct pinion_layout *layout, u64 offset, u64 want,
			struct pinion_range_of_key *range)
{
	u64 within, times = div64_u64_rem(offset, layout->length, &within);

	*range = layout->range[layout_find(layout, within)];
	within -= range->start;
	range->addr += times * range->stride + within;
	range->length = min_t(u64, range->length - within, want);
}

/* Fill @layout, which is not in use, from @ranges. Return: as pinion_layout_set(). */
static enum pinion_syndrome layout_fill(struct pinion_layout *layout,
					const struct pinion_wqe_layout *change,
					const struct pinion_wqe_range *ranges)
{
	u64 length = 0, times;
	u32 i, rest;

	if (!change->num || change->num > layout->most || !change->times)
		return PINION_SYN_BIND;
	for (i = 0; i < change->num; i++) {
		layout->range[i] = (struct pinion_range_of_key){
			.addr = ranges[i].addr,
			.key = ranges[i].key,
			.length = ranges[i].length,
			.stride = ranges[i].stride,
			.start = length,
		};
		length += ranges[i].length;
	}
	layout->num = change->num;
	layout->times = change->times;
	layout->length = length;
	/* Divide: the product could overflow. */
	times = div_u64_rem(change->length, change->times, &rest);
	if (!length || times > length || (times == length && rest))
		return PINION_SYN_BIND;
	return 0;
}

/* The gate is closed. */
static enum pinion_syndrome layout_change(struct pinion_key *key,
					  const struct pinion_wqe_layout *change,
					  const struct pinion_wqe_range *ranges)
{
	enum pinion_syndrome syndrome;

	if (change->flags & PINION_LAYOUT_RANGES) {
		syndrome = layout_fill(key->layout->other, change, ranges);
		if (syndrome)
			return syndrome;
		key->layout = key->layout->other;
		key->length = change->length;
		pinion_key_exchanged(key);
	} else if (!key->layout->num) {
		return PINION_SYN_BIND;
	}
	if (change->flags & PINION_LAYOUT_ACCESS)
		key->rights = change->access & LAYOUT_RIGHTS;
	WRITE_ONCE(key->value, (key->value & ~PINION_KEY_TAG) | (change->new_key & PINION_KEY_TAG));
	key->state = PINION_KEY_VALID;
	return 0;
}

enum pinion_syndrome pinion_layout_set(struct pinion_keys *keys, struct ib_pd *pd,
				       const struct pinion_wqe_layout *change,
				       const struct pinion_wqe_range *ranges)
{
	struct pinion_key *key = pinion_key_get(keys, change->key);
	enum pinion_syndrome syndrome = PINION_SYN_KEY_UNKNOWN;

	if (!key)
		return syndrome;
	if (key->kind == PINION_KEY_LAYOUT && pinion_key_is_own(key, pd, change->key)) {
		pinion_key_close(key);
		/* It may have changed before its gate was closed. */
		if (pinion_key_is_own(key, pd, change->key))
			syndrome = layout_change(key, change, ranges);
		pinion_key_open(key);
	}
	pinion_key_put(key);
	return syndrome;
}
