/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbell pages that hear a store at once. While doorbell records are polled seldom (bell.c) the
 * pages are mapped nowhere. The next store to one faults; the fault maps the page and has the
 * records polled.
 *
 * Only the delay depends on this. A program need not store to its page at all, and there are stores
 * that do not fault (by a pinned page, or by a dma-buf of it), so polling never ends altogether.
 */
#ifndef PINION_PATH_TRAP_H
#define PINION_PATH_TRAP_H

struct file;
struct page;
struct pinion_bells;
struct vm_area_struct;

/*
 * A trap is a file. Mappings of doorbell pages refer to it, so that all can be found by its address
 * space. They may outlive @bells, and the module stays as long as there are any. The caller drops
 * its reference with fput(). Return: an ERR_PTR if there is no memory.
 */
struct file *pinion_trap_create(struct pinion_bells *bells);

/* @bells end: faults of mappings that are left do not reach them any more. */
void pinion_trap_disarm(struct file *trap);

/* For mmap() of @page, which is the whole of @vma: the first access will map it. */
void pinion_trap_add(struct file *trap, struct vm_area_struct *vma, struct page *page);

/* Take the pages away from all who have mapped them. Sleeps; needs nobody's mmap_lock. */
void pinion_trap_set(struct file *trap);

#endif
