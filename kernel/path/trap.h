/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbell pages that notice a store at once. While doorbell records are polled rarely (bell.c) the
 * pages are not mapped. The next store to a page faults, and the fault handler maps the page and
 * polls the records.
 *
 * This only reduces the delay. A program need not store to its page, and a store by a pinned page
 * or a dma-buf of it does not fault, so polling never stops.
 */
#ifndef PINION_PATH_TRAP_H
#define PINION_PATH_TRAP_H

struct file;
struct page;
struct pinion_bells;
struct vm_area_struct;

/*
 * A trap is a file. Mappings of doorbell pages refer to it, so its address space has all of them.
 * They may outlive @bells, and keep the module loaded. The caller drops its reference with fput().
 * Return: an ERR_PTR if there is no memory.
 */
struct file *pinion_trap_create(struct pinion_bells *bells);

/* Detach @bells, which end: later faults do nothing but map the page. */
void pinion_trap_disarm(struct file *trap);

/* mmap() of @page, all of @vma: the first access maps it. */
void pinion_trap_add(struct file *trap, struct vm_area_struct *vma, struct page *page);

/* Unmap the pages from all processes. Sleeps; takes no mmap_lock. */
void pinion_trap_set(struct file *trap);

#endif
