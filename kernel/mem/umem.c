// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX umems: pins memory, makes a table of blocks of a size that the user has listed, and keeps
 * both while any object is made of the umem.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "../compat/umem.h"
#include "../logic/range.h"
#include "describe.h"
#include "dmabuf_pinned.h"
#include "inject.h"
#include "mtt.h"
#include "table.h"
#include "umem.h"

void pinion_umems_init(struct pinion_umems *umems)
{
	xa_init_flags(&umems->by_id, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
}

void pinion_umems_destroy(struct pinion_umems *umems)
{
	WARN_ON(!pinion_table_is_empty(&umems->by_id));
	xa_destroy(&umems->by_id);
}

/*
 * Make the table, with blocks of a size in @page_sizes. Sizes larger than the power of two that
 * holds the whole umem are left out: they gain nothing.
 */
static struct pinion_mtt *umem_describe(struct ib_umem *umem, u64 page_sizes)
{
	unsigned int top = clamp_t(unsigned int, order_base_2(umem->length), PAGE_SHIFT,
				   BITS_PER_LONG - 1);

	return pinion_describe_in(umem, page_sizes & GENMASK_ULL(top, PAGE_SHIFT));
}

static int umem_pin(struct pinion_umem *umem, struct ib_device *ibdev,
		    const struct pinion_umem_want *want)
{
	const char *why = "not pinned";
	int err;

	err = pinion_inject_here(PINION_INJECT_PIN);
	if (err)
		return -err;
	if (want->is_dmabuf)
		umem->umem = pinion_dmabuf_pin(ibdev, ibdev->dma_device, want->addr, want->length,
					       want->fd, want->access, &why);
	else
		umem->umem = pinion_ib_umem_get(ibdev, want->addr, want->length, want->access);
	if (IS_ERR(umem->umem)) {
		err = PTR_ERR(umem->umem);
		ibdev_dbg_ratelimited(ibdev, "no umem of %llu bytes at 0x%llx: %s (%d)\n",
				      want->length, want->addr, why, err);
		return err;
	}
	umem->mtt = umem_describe(umem->umem, want->page_sizes);
	if (IS_ERR(umem->mtt)) {
		ib_umem_release(umem->umem);
		return PTR_ERR(umem->mtt);
	}
	return 0;
}

/**
 * pinion_umem_create - pin memory and make a umem of it
 * @umems: the device's
 * @ibdev: the device
 * @owner: the context that may use its number
 * @want: memory, block sizes and access, which the caller has checked
 *
 * Return: the umem, which cannot be found yet, or an ERR_PTR.
 */
struct pinion_umem *pinion_umem_create(struct pinion_umems *umems, struct ib_device *ibdev,
				       const void *owner, const struct pinion_umem_want *want)
{
	struct pinion_umem *umem;
	int err;

	if (!want->length)
		return ERR_PTR(-EINVAL);
	umem = kzalloc(sizeof(*umem), GFP_KERNEL_ACCOUNT);
	if (!umem)
		return ERR_PTR(-ENOMEM);
	umem->umems = umems;
	umem->owner = owner;
	umem->length = want->length;
	err = umem_pin(umem, ibdev, want);
	if (err)
		goto err_free;
	umem->writable = umem->umem->writable;
	/* Reserve the number; xa_load() finds nothing there yet. */
	err = xa_alloc(&umems->by_id, &umem->id, NULL,
		       XA_LIMIT(1, BIT(PINION_LOG_MAX_UMEM + 1)), GFP_KERNEL_ACCOUNT);
	if (err) {
		/* All numbers are used. -EBUSY means something else to callers. */
		if (err == -EBUSY)
			err = -ENOMEM;
		goto err_unpin;
	}
	return umem;

err_unpin:
	pinion_mtt_free(umem->mtt);
	ib_umem_release(umem->umem);
err_free:
	kfree(umem);
	return ERR_PTR(err);
}

void pinion_umem_publish(struct pinion_umems *umems, struct pinion_umem *umem)
{
	/* The entry is reserved, so this allocates nothing and cannot fail. */
	xa_store(&umems->by_id, umem->id, umem, GFP_NOWAIT);
}

/**
 * pinion_umem_destroy - unpin and free, unless an object is made of it
 * @umems: the device's
 * @umem: published or not
 *
 * Return: 0, or -EBUSY; then nothing has changed.
 */
int pinion_umem_destroy(struct pinion_umems *umems, struct pinion_umem *umem)
{
	bool busy;

	xa_lock(&umems->by_id);
	busy = umem->uses;
	if (!busy)
		__xa_erase(&umems->by_id, umem->id);
	xa_unlock(&umems->by_id);
	if (busy)
		return -EBUSY;
	pinion_mtt_free(umem->mtt);
	ib_umem_release(umem->umem);
	kfree(umem);
	return 0;
}

struct pinion_umem *pinion_umem_use(struct pinion_umems *umems, u32 id, const void *owner)
{
	struct pinion_umem *umem;

	xa_lock(&umems->by_id);
	umem = xa_load(&umems->by_id, id);
	if (umem && umem->owner != owner)
		umem = NULL;
	if (umem)
		umem->uses++;
	xa_unlock(&umems->by_id);
	return umem;
}

void pinion_umem_unuse(struct pinion_umem *umem)
{
	struct xarray *by_id = &umem->umems->by_id;

	xa_lock(by_id);
	umem->uses--;
	xa_unlock(by_id);
}

/*
 * The kernel charges nobody for the page tables of a view. So the views of a umem may have as many
 * bytes in sum as the umem, whose pinned memory is accounted.
 */
static bool umem_reserve_view(struct pinion_umem *umem, u64 length)
{
	bool fits;

	xa_lock(&umem->umems->by_id);
	fits = length <= umem->length - umem->viewed;
	if (fits)
		umem->viewed += length;
	xa_unlock(&umem->umems->by_id);
	return fits;
}

static void umem_release_view(struct pinion_umem *umem, u64 length)
{
	xa_lock(&umem->umems->by_id);
	umem->viewed -= length;
	xa_unlock(&umem->umems->by_id);
}

static void *umem_map_pages(const struct pinion_umem *umem, u64 offset, u64 length)
{
	u64 within = (umem->mtt->first + offset) & ~PAGE_MASK;
	unsigned long count = PFN_UP(within + length), i;
	struct page **pages;
	void *kva, *view;

	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;
	for (i = 0; i < count; i++) {
		pinion_mtt_run(umem->mtt, i ? offset - within + i * PAGE_SIZE : offset, 1, &kva);
		pages[i] = virt_to_page(kva);
	}
	view = vmap(pages, count, VM_MAP, umem->writable ? PAGE_KERNEL : PAGE_KERNEL_RO);
	kvfree(pages);
	return view ? view + within : NULL;
}

/**
 * pinion_umem_map - map part of a umem into the kernel
 * @umem: the caller holds a use count
 * @offset: of the first byte
 * @length: in bytes, within the umem
 *
 * Return: the address of the first byte, or NULL.
 */
void *pinion_umem_map(struct pinion_umem *umem, u64 offset, u64 length)
{
	void *view;

	if (!umem_reserve_view(umem, length))
		return NULL;
	view = umem_map_pages(umem, offset, length);
	if (!view)
		umem_release_view(umem, length);
	return view;
}

void pinion_umem_unmap(struct pinion_umem *umem, void *view, u64 length)
{
	vunmap((void *)((unsigned long)view & PAGE_MASK));
	umem_release_view(umem, length);
}

int pinion_view_make(struct pinion_view *view, struct pinion_umem *umem, u64 offset, u64 length,
		     u32 align, enum pinion_view_use use)
{
	if ((use == PINION_VIEW_WRITE && !umem->writable) ||
	    !pinion_range_holds(0, umem->length, offset, length) ||
	    (umem->mtt->first + offset) % align)
		return -EINVAL;
	if (!umem_reserve_view(umem, length))
		return -ENOSPC;
	view->at = umem_map_pages(umem, offset, length);
	if (!view->at) {
		umem_release_view(umem, length);
		return -ENOMEM;
	}
	view->umem = umem;
	view->length = length;
	return 0;
}

void pinion_view_end(struct pinion_view *view)
{
	if (!view->at)
		return;
	pinion_umem_unmap(view->umem, view->at, view->length);
	pinion_umem_unuse(view->umem);
	*view = (struct pinion_view){};
}
