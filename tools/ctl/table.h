/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reads the table of one key of a pinion device from debugfs, run by run.
 */
#ifndef PINIONCTL_TABLE_H
#define PINIONCTL_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Parse the words of @command, `DEVICE KEY' or `DEVICE key KEY'. Return: the key; (*@words)[0] is
 * the device and [2] the next word. Exits if they are missing.
 */
uint32_t device_key(const char *command, char ***words);
/* Print that there is no such key. Return: EXIT_FOUND. */
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

/* Return: false if no key has this number. Exits if the file is missing. */
bool table_open(struct table *table, const char *device, uint32_t key);
/* Read the next run. Return: false at the end. */
bool table_next(struct table *table, struct run *run);
/* Return: whether the table was the same during all reads. */
bool table_close(struct table *table);

#endif
