/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A window, a region for it, and functions to bind it.
 */
#ifndef PINION_KUNIT_WINDOWS_H
#define PINION_KUNIT_WINDOWS_H

#include "../kernel/mem/window.h"
#include "keys.h"

#define BASE		0x7f0000001000ULL
#define LENGTH		0x4000ULL
#define REMOTE_RIGHTS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* A region that allows every bind, and the window. */
struct pair {
	struct pinion_key *region;
	struct pinion_key *window;
};

static inline struct pair new_pair(struct kunit *test, enum ib_mw_type type)
{
	return (struct pair){
		.region = new_region(test, BASE, LENGTH, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND),
		.window = new_window(test, type)->key,
	};
}

/* A valid bind. */
static inline struct pinion_wqe_bind bind_all(const struct pair *pair)
{
	u32 tag = (pair->window->value + 1) & 0xff;

	return (struct pinion_wqe_bind){
		.addr = pair->region->base,
		.length = pair->region->length,
		.mr_lkey = pair->region->value,
		.mw_rkey = pair->window->value,
		.new_rkey = (pair->window->value & ~0xff) | tag,
		.access = REMOTE_RIGHTS,
	};
}

static inline int bind_on(struct kunit *test, u32 qpn, const struct pinion_wqe_bind *bind)
{
	struct keys_test *t = test->priv;

	return pinion_window_bind(&t->keys, &t->pd, qpn, bind);
}

static inline int do_bind(struct kunit *test, const struct pinion_wqe_bind *bind)
{
	return bind_on(test, TEST_QPN, bind);
}

static inline int invalidate(struct kunit *test, u32 rkey)
{
	struct keys_test *t = test->priv;

	return pinion_key_invalidate(&t->keys, &t->pd, rkey, 0);
}

/* Everything of a window that a bind may change; without padding, so that memcmp() works. */
struct meaning {
	u32 value, rights, qpn;
	enum pinion_key_state state;
	u64 base, length, region_offset;
	const struct pinion_key *region;
	int windows[2];
};

static inline struct meaning meaning_of(const struct pinion_key *window,
					const struct pinion_key *first,
					const struct pinion_key *second)
{
	return (struct meaning){
		.value = window->value,
		.rights = window->rights,
		.qpn = window->qpn,
		.state = window->state,
		.base = window->base,
		.length = window->length,
		.region_offset = window->region_offset,
		.region = window->region,
		.windows = {
			atomic_read(&first->lent),
			second ? atomic_read(&second->lent) : 0,
		},
	};
}

/* The bind is refused with this syndrome, changes nothing, and leaves the gates open. */
static inline void expect_refused(struct kunit *test, const struct pair *pair,
				  const struct pinion_wqe_bind *bind, int why)
{
	struct meaning before = meaning_of(pair->window, pair->region, NULL), after;

	KUNIT_EXPECT_EQ(test, do_bind(test, bind), why);
	after = meaning_of(pair->window, pair->region, NULL);
	KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));
	KUNIT_EXPECT_TRUE(test, gate_is_free(pair->window));
	KUNIT_EXPECT_TRUE(test, gate_is_free(pair->region));
}

#endif
