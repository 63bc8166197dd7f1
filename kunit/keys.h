/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A key table for one test, keys to put into it, and accesses.
 */
#ifndef PINION_KUNIT_KEYS_H
#define PINION_KUNIT_KEYS_H

#include <kunit/test.h>
#include <rdma/ib_verbs.h>
#include <rdma/pinion-abi.h>

#include "../kernel/mem/mr.h"

#define TEST_QPN	7
#define OTHER_QPN	8

/* test->priv of every suite about keys. */
struct keys_test {
	struct pinion_keys keys;
	struct ib_pd pd;
	struct ib_pd other_pd;
	int own;		/* keys that the table itself has */
};

#define ALL_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		    IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND)

/* A suite's .init and .exit; keys that a test leaves are killed. */
static inline int keys_test_init(struct kunit *test)
{
	struct keys_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int err;

	if (!t)
		return -ENOMEM;
	err = pinion_keys_init(&t->keys, NULL);
	if (err)
		return err;
	t->own = atomic_read(&t->keys.live);
	test->priv = t;
	return 0;
}

/* Number of keys of the test. */
static inline int live_keys(struct kunit *test)
{
	struct keys_test *t = test->priv;

	return atomic_read(&t->keys.live) - t->own;
}

static inline void kill_left(struct keys_test *t, bool windows)
{
	struct pinion_key *key;
	u32 index;

	for (index = 0; (key = pinion_keys_next(&t->keys, &index)); index++) {
		pinion_key_put(key);
		if (windows ? key->kind == PINION_KEY_WINDOW : key != t->keys.null)
			pinion_key_kill(key);
	}
}

static inline void keys_test_exit(struct kunit *test)
{
	struct keys_test *t = test->priv;

	if (!t)
		return;
	/* Windows first, because they hold their regions. */
	kill_left(t, true);
	kill_left(t, false);
	KUNIT_EXPECT_EQ(test, live_keys(test), 0);
	pinion_keys_destroy(&t->keys);
}

/* A region in t->pd, valid and findable. */
static inline struct pinion_key *new_region(struct kunit *test, u64 base, u64 length, u32 rights)
{
	struct keys_test *t = test->priv;
	struct pinion_key *key;

	key = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(key));
	key->pd = &t->pd;
	key->base = base;
	key->length = length;
	key->rights = rights;
	key->state = PINION_KEY_VALID;
	pinion_key_publish(key);
	return key;
}

/* A window in t->pd, findable, not bound. */
static inline struct pinion_mw *new_window(struct kunit *test, enum ib_mw_type type)
{
	struct pinion_mw *mw = kunit_kzalloc(test, sizeof(*mw), GFP_KERNEL);
	struct keys_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, mw);
	mw->ibmw.type = type;
	mw->ibmw.pd = &t->pd;
	KUNIT_ASSERT_EQ(test, pinion_alloc_mw(&t->keys, &mw->ibmw), 0);
	return mw;
}

/* Enters @length bytes at @addr from t->pd and queue pair TEST_QPN. */
static inline int enter_as(struct kunit *test, u32 value, u32 rights, u64 addr, u64 length,
			   bool remote, struct pinion_pass *pass)
{
	struct keys_test *t = test->priv;
	struct pinion_want want = {
		.pd = &t->pd, .qpn = TEST_QPN, .key = value, .rights = rights, .addr = addr,
		.length = length, .remote = remote,
	};

	return pinion_key_enter(&t->keys, &want, pass);
}

static inline int try_enter(struct kunit *test, u32 value, u32 rights, u64 addr, u64 length,
			    struct pinion_pass *pass)
{
	return enter_as(test, value, rights, addr, length, false, pass);
}

static inline int try_enter_remote(struct kunit *test, u32 value, u32 rights, u64 addr,
				   u64 length, struct pinion_pass *pass)
{
	return enter_as(test, value, rights, addr, length, true, pass);
}

/* Enters and leaves; nothing is held afterwards. */
static inline int may_enter(struct kunit *test, u32 value, u32 rights, u64 addr, u64 length)
{
	struct pinion_pass pass;
	int err = try_enter(test, value, rights, addr, length, &pass);

	if (!err)
		pinion_key_leave(&pass);
	return err;
}

static inline int may_enter_remote(struct kunit *test, u32 value, u32 rights, u64 addr,
				   u64 length)
{
	struct pinion_pass pass;
	int err = try_enter_remote(test, value, rights, addr, length, &pass);

	if (!err)
		pinion_key_leave(&pass);
	return err;
}

/* The era of the memory that a remote read of the byte at @addr sees. */
static inline u64 era_of(struct kunit *test, u32 value, u64 addr)
{
	struct pinion_pass pass;

	KUNIT_ASSERT_EQ(test, try_enter_remote(test, value, 0, addr, 1, &pass), 0);
	pinion_key_leave(&pass);
	return pass.era;
}

static inline bool gate_is_closed_now(const struct pinion_key *key)
{
	return test_bit(PINION_GATE_CLOSED, &key->gate.state);
}

static inline bool gate_has_reader(const struct pinion_key *key)
{
	int cpu, slot;

	for_each_possible_cpu(cpu)
		for (slot = 0; slot < PINION_GATE_DEPTH; slot++)
			if (READ_ONCE(per_cpu(pinion_gate_slots, cpu).inside[slot]) == &key->gate)
				return true;
	return false;
}

/* Is the gate open, with no reader inside? */
static inline bool gate_is_free(const struct pinion_key *key)
{
	return !gate_has_reader(key) && !gate_is_closed_now(key);
}

/* Closes the gate as if the closer had been preempted; no code of ours does this. */
static inline void shut(struct pinion_key *key)
{
	set_bit(PINION_GATE_CLOSED, &key->gate.state);
	smp_mb__after_atomic(); /* as in pinion_gate_close() */
}

static inline void unshut(struct pinion_key *key)
{
	clear_bit_unlock(PINION_GATE_CLOSED, &key->gate.state);
}

#endif
