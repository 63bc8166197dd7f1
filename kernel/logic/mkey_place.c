// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Places keys in umems. No sum overflows, whatever the command says: only numbers that are known to
 * be within the umem or within a page are added.
 */
#include <asm/page.h>

#include "devx_cmd.h"
#include "mkey_place.h"
#include "range.h"

/*
 * The key begins in the page that umem_offset is in, at the offset in the page that its base
 * address has. If umem_offset has an offset in the page, too, both must be equal.
 */
bool pinion_mkey_place(const struct pinion_umem_shape *umem,
		       const struct pinion_devx_mkey *asked, u64 *offset)
{
	u8 shift = asked->page_shift ?: PAGE_SHIFT;
	u64 in_page, begin, position;

	/* The umem is not contiguous in units of more than its own block size. */
	if (shift < PAGE_SHIFT || shift > umem->shift)
		return false;
	if (asked->umem_offset >= umem->length)
		return false;
	in_page = (1ULL << shift) - 1;
	begin = umem->first + asked->umem_offset;
	if (begin & in_page && (begin ^ asked->base) & in_page)
		return false;
	position = (begin & ~in_page) + (asked->base & in_page);
	if (position < umem->first)
		return false;
	*offset = position - umem->first;
	if (!pinion_range_holds(0, umem->length, *offset, asked->length))
		return false;
	return !asked->entries ||
	       asked->entries >= ((asked->base & in_page) + asked->length + in_page) >> shift;
}
