/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What exists, as the kernel reports it: the objects of the device (as `rdma resource
 * show'), and its keys.
 */
#ifndef PINION_TEST_RESOURCES_H
#define PINION_TEST_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region;

enum { RESOURCE_KINDS = 32 };

struct resources {
	bool known; /* everything could be read */
	int kinds;
	struct {
		char name[16];
		uint64_t count;
	} kind[RESOURCE_KINDS];
};

void resources_read(struct resources *res);
/* Writes the differences to @text. If either side is not known, they differ. */
bool resources_differ(const struct resources *a, const struct resources *b,
		      char *text, size_t size);
/* Wait until there is as much as in @before: destruction may be asynchronous. */
void resources_await(const struct resources *before);
/* The number of objects of one kind ("mr", "qp", ...; "keys" from debugfs); -1 if unknown. */
long long resources_count(const struct resources *res, const char *name);

/* Read all that the kernel reports of each queue. Return: how many of them are of processes; -1 if that failed. */
int resources_describe(void);

struct mr_info {
	bool found;
	uint32_t rkey, lkey, mrn, pdn;
	uint64_t length;
};
/* Find the MR with this rkey. Needs CAP_NET_ADMIN: others are not told keys. */
bool resources_mr(uint32_t rkey, struct mr_info *info);
int resources_mrs(struct mr_info *infos, int max);
/*
 * Read what the driver tells of the only region of @length bytes, as in `rdma -dd resource show
 * mr'. Returns the number of rows, or -1.
 */
struct mr_row {
	char name[24];
	uint64_t value;
};
int resources_mr_rows(uint64_t length, struct mr_row *rows, int max);
/* Read a counter of one region, as in `rdma statistic show mr'. */
bool resources_mr_counter(uint32_t rkey, const char *name, uint64_t *value);
/* The same by the region's number: without CAP_NET_ADMIN nobody is told keys. */
bool resources_mrn_counter(uint32_t mrn, const char *name, uint64_t *value);
/* The same; skips the test if the kernel has no such counter. */
uint64_t key_counter(uint32_t rkey, const char *name);
uint64_t region_counter(const struct region *region, const char *name);

/* How many parents of pinion devices there are on this machine: each device has two. */
int device_parents(void);

#endif /* PINION_TEST_RESOURCES_H */
