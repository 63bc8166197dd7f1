// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes capabilities in mlx5's layout. Offsets count from the first bit behind an answer's head.
 */
#include <linux/bits.h>
#include <linux/kernel.h>

#include "devx_caps.h"
#include "devx_cmd.h"
#include "devx_field.h"

enum devx_caps_kind {
	CAPS_GENERAL	= 0x00,
	CAPS_ODP	= 0x02,
	CAPS_ATOMIC	= 0x03,
	CAPS_MEMORY	= 0x0f,
	CAPS_GENERAL_2	= 0x20,
};

/* The number of bits for kinds of messages in an ODP capability, highest first. */
#define ODP_MESSAGES	6

struct devx_cap {
	struct pinion_devx_field field;
	u32 value;
};

/* Write those that fit into the answer; the others are left out. */
static void caps_put(u8 *out, size_t length, const struct devx_cap *caps, u32 num)
{
	u32 i, end;

	for (i = 0; i < num; i++) {
		end = PINION_DEVX_HEAD * 8 + caps[i].field.at + caps[i].field.width;
		if (end <= length * 8)
			pinion_devx_put(out, PINION_DEVX_HEAD * 8, caps[i].field, caps[i].value);
	}
}

static void caps_put_general(u8 *out, size_t length, const struct pinion_devx_caps *caps)
{
	const struct devx_cap general[] = {
		/* Supports the query of the second part of the general capabilities. */
		{ { 0x020, 1 }, 1 },
		/* log2 of the largest length of a COPY. */
		{ { 0x06b, 5 }, caps->log_max_copy },
		{ { 0x088, 8 }, caps->log_max_qp_size },
		{ { 0x09b, 5 }, caps->log_max_qp },
		{ { 0x0c8, 8 }, caps->log_max_cq_size },
		{ { 0x0db, 5 }, caps->log_max_cq },
		{ { 0x0ea, 6 }, caps->log_max_key },
		{ { 0x11a, 6 }, caps->log_max_klms },
		/* Queue pairs have COPY. */
		{ { 0x153, 1 }, 1 },
		/* Ethernet, one port. */
		{ { 0x1b6, 2 }, 1 },
		{ { 0x1b8, 8 }, 1 },
		{ { 0x1c3, 5 }, caps->log_max_message },
		/* Completions have the user index of their queue. */
		{ { 0x1fc, 4 }, 1 },
		/* Atomics. */
		{ { 0x21e, 1 }, 1 },
		/* On-demand paging. */
		{ { 0x227, 1 }, 1 },
		{ { 0x258, 8 }, caps->page_shift },
		{ { 0x32b, 5 }, caps->log_max_pd },
		/* Reliable connections accept the request for out-of-order delivery. */
		{ { 0x334, 1 }, 1 },
		{ { 0x383, 5 }, caps->log_max_rmp },
		{ { 0x46b, 5 }, caps->log_max_umem },
	};

	caps_put(out, length, general, ARRAY_SIZE(general));
}

/* Reverse the bits: the kernel's lowest bit is the highest in mlx5's layout. */
static u32 caps_odp_messages(u8 messages)
{
	u32 value = 0;
	int i;

	for (i = 0; i < ODP_MESSAGES; i++) {
		if (messages & BIT(i))
			value |= BIT(ODP_MESSAGES - 1 - i);
	}
	return value;
}

/* Report the scheme in which faults belong to memory, not to queue pairs. */
static void caps_put_odp(u8 *out, size_t length, const struct pinion_devx_caps *caps)
{
	const struct devx_cap odp[] = {
		{ { 0x280, ODP_MESSAGES }, caps_odp_messages(caps->odp_rc) },
		{ { 0x2a0, ODP_MESSAGES }, caps_odp_messages(caps->odp_uc) },
		{ { 0x2c0, ODP_MESSAGES }, caps_odp_messages(caps->odp_ud) },
		{ { 0x2e0, ODP_MESSAGES }, caps_odp_messages(caps->odp_xrc) },
		{ { 0x600, 1 }, 1 },
	};

	caps_put(out, length, odp, ARRAY_SIZE(odp));
}

/* Atomics are of 8 bytes, in host byte order. */
static void caps_put_atomic(u8 *out, size_t length)
{
	const struct devx_cap atomic[] = {
		{ { 0x040, 2 }, 1 },
		{ { 0x046, 1 }, 1 },
		/* CMP_AND_SWP and FETCH_AND_ADD. */
		{ { 0x090, 16 }, BIT(0) | BIT(1) },
		{ { 0x0b0, 16 }, 8 },
	};

	caps_put(out, length, atomic, ARRAY_SIZE(atomic));
}

static void caps_put_general_2(u8 *out, size_t length, const struct pinion_devx_caps *caps)
{
	const struct devx_cap general[] = {
		/* Sends can be rung in a doorbell page instead of a doorbell record. */
		{ { 0x2e1, 1 }, 1 },
		{ { 0x2e3, 5 }, caps->log_max_qp_size },
	};

	caps_put(out, length, general, ARRAY_SIZE(general));
}

int pinion_devx_put_caps(u8 *out, size_t length, u16 kind, const struct pinion_devx_caps *caps)
{
	switch (kind) {
	case CAPS_GENERAL:
		caps_put_general(out, length, caps);
		return PINION_DEVX_DONE;
	case CAPS_ODP:
		caps_put_odp(out, length, caps);
		return PINION_DEVX_DONE;
	case CAPS_ATOMIC:
		caps_put_atomic(out, length);
		return PINION_DEVX_DONE;
	case CAPS_MEMORY:
		/* All 0: device memory has no operations. */
		return PINION_DEVX_DONE;
	case CAPS_GENERAL_2:
		caps_put_general_2(out, length, caps);
		return PINION_DEVX_DONE;
	}
	return PINION_DEVX_NO_SUCH_CAPS;
}
