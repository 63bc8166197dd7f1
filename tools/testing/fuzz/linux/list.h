/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Enough of the kernel's lists for headers that declare some. */
#ifndef PINION_FUZZ_LIST_H
#define PINION_FUZZ_LIST_H

#include <linux/types.h>

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
}

#define list_first_entry(list, type, member) \
	((type *)((char *)(list)->next - offsetof(type, member)))

#endif
