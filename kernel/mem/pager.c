// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a pager, whatever its kind: attached to a key, kept by who faults,
 * ended when nobody does any more.
 */
#include "key.h"
#include "pager.h"

void pinion_pager_init(struct pinion_pager *pager, const struct pinion_pager_ops *ops)
{
	pager->ops = ops;
	refcount_set(&pager->users, 1);
	init_completion(&pager->unused);
}

void pinion_pager_attach(struct pinion_pager *pager, struct pinion_key *key)
{
	kref_get(&key->ref);
	pager->key = key;
	pager->ops->attach(pager, key);
}

void pinion_pager_put(struct pinion_pager *pager)
{
	if (refcount_dec_and_test(&pager->users))
		complete(&pager->unused);
}

void pinion_pager_destroy(struct pinion_pager *pager)
{
	struct pinion_key *key;

	if (!pager)
		return;
	WRITE_ONCE(pager->ending, true);
	pinion_pager_put(pager);
	wait_for_completion(&pager->unused);
	key = pager->key;
	pager->ops->destroy(pager);
	if (key)
		pinion_key_put(key);
}

void pinion_pager_count(struct pinion_pager *pager, enum pinion_pager_count pages,
			enum pinion_pager_count events, u64 n)
{
	atomic64_add(n, &pager->counts[pages]);
	atomic64_inc(&pager->counts[events]);
}
