// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalidates pages of a region by order of root. Messages fault them again, so no data is lost.
 */
#include "../logic/range.h"
#include "inject.h"
#include "key.h"
#include "look.h"
#include "pager.h"

/*
 * Return the region's pager, with a reference, or an ERR_PTR. @pass is inside the gates. @offset
 * and @length are relative to the key, which may be a window's; they become relative to the
 * region. A length of 0 means to the end of the key.
 */
static struct pinion_pager *inject_pager_of(const struct pinion_pass *pass, u64 *offset,
					    u64 *length)
{
	const struct pinion_key *key = pass->key, *region = pass->region;

	if (!*length && *offset < key->length)
		*length = key->length - *offset;
	if (!*length || !pinion_range_holds(0, key->length, *offset, *length))
		return ERR_PTR(-ERANGE);
	if (!region->pager || !region->pager->ops->invalidate)
		return ERR_PTR(-EOPNOTSUPP);
	if (key != region)
		*offset += key->region_offset;
	pinion_pager_get(region->pager);
	return region->pager;
}

int pinion_inject_invalidate(struct pinion_keys *keys, u32 value, u64 offset, u64 length)
{
	struct pinion_pager *pager;
	struct pinion_pass pass;
	int err;

	err = pinion_look_enter(keys, value, &pass);
	if (err)
		return err;
	pager = inject_pager_of(&pass, &offset, &length);
	pinion_key_leave(&pass);
	if (IS_ERR(pager))
		return PTR_ERR(pager);
	err = pager->ops->invalidate(pager, offset, length);
	pinion_pager_put(pager);
	return err;
}
