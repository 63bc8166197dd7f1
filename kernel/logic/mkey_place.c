// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Arithmetic of keys in umems. Nothing here overflows, whatever is asked: a sum is made only
 * of numbers that are known to be within the umem or a page.
 */
#include <asm/page.h>

#include "devx_cmd.h"
#include "mkey_place.h"
#include "range.h"

/*
 * Pages are counted from the one the offset leads to, and the first byte is where in it
 * the first address says. Both may say where in the page; then they have to agree.
 */
bool pinion_mkey_place(const struct pinion_umem_shape *umem,
		       const struct pinion_devx_mkey *asked, u64 *offset)
{
	u8 shift = asked->page_shift ?: PAGE_SHIFT;
	u64 in_page, begin, position;

	/* Larger pages than those the umem has are not there. */
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
