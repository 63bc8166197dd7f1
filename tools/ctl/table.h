/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The table of one key of a pinion device, run by run, as debugfs has it.
 */
#ifndef PINIONCTL_TABLE_H
#define PINIONCTL_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The key of `DEVICE KEY' or `DEVICE key KEY', the words of @command. Afterwards (*@words)[0] is
 * the device, and [2] what follows. Without them the program ends.
 */
uint32_t device_key(const char *command, char ***words);
/* Says so. Return: EXIT_FOUND. */
int key_missing(const char *device, uint32_t key);

struct table {
	FILE *file;
	uint32_t key;
	uint64_t base, length, block_size;
	uint32_t generation;
};

struct run {
	uint64_t offset, length, address;
	bool writable;
};

/* Return: false if no key has this number. Without the file the program ends. */
bool table_open(struct table *table, const char *device, uint32_t key);
/* The next run, or false. */
bool table_next(struct table *table, struct run *run);
/* Return: has it been one table all the time? */
bool table_close(struct table *table);

#endif
