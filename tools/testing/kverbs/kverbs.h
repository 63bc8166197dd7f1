/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of kernel verbs share: a device, two connected queue pairs on it, and
 * memory with a model.
 */
#ifndef PINION_KVERBS_H
#define PINION_KVERBS_H

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

/* ------------------------------------------------------------- the device (main.c) */

extern struct ib_device *kverbs_device;
/* Does it send packets even to peers on this host? */
extern bool kverbs_packets;

/* ------------------------------------------------------------ queue pairs (pair.c) */

struct end {
	struct ib_cq *cq;
	struct ib_qp *qp;
};

struct pair {
	struct ib_pd *pd;
	struct end a, b;
};

/* The index of the GID that tests use, and the MAC of its network device; negative: none. */
int kverbs_find_gid(struct ib_device *device, union ib_gid *gid, u8 *mac);
/* The address of the device itself: what kverbs_find_gid() has found. */
void kverbs_address(struct ib_device *device, const union ib_gid *gid, int index, const u8 *mac,
		    struct rdma_ah_attr *address);
/* From RESET to RTS, to queue pair @peer at @address. Return: 0 or the error. */
int kverbs_connect(struct ib_qp *qp, u32 peer, const struct rdma_ah_attr *address);

/* Both ends are on the device, and connected. */
struct pair *pair_new(struct kunit *test);
void pair_free(struct pair *pair);
/* Which MAC the ends give their peers' addresses. */
enum mac { ITS_MAC, NO_MAC, WRONG_MAC };
/* Resets and reconnects both ends, with nothing posted. */
void pair_renew(struct kunit *test, struct pair *pair, enum mac mac);

/* The next completion, or an invalid status after ten seconds. */
struct ib_wc end_wait(struct end *end);
/* Posts the request, signaled, and returns the status of its completion. */
enum ib_wc_status end_do(struct kunit *test, struct end *end, struct ib_send_wr *wr);
enum ib_wc_status end_rdma(struct kunit *test, struct end *end, enum ib_wr_opcode opcode,
			   struct ib_sge sge, u64 remote, u32 rkey);
enum ib_wc_status end_reg(struct kunit *test, struct end *end, struct ib_mr *mr, u32 key,
			  int access);
enum ib_wc_status end_invalidate(struct kunit *test, struct end *end, u32 key);
/* Posts a receive of @to and a send of @from; returns the receive's completion. */
struct ib_wc pair_send(struct kunit *test, struct pair *pair, enum ib_wr_opcode opcode,
		       struct ib_sge from, struct ib_sge to, u32 invalidate,
		       enum ib_wc_status *sent);

/* ---------------------------------------------------------------- memory (memory.c) */

enum { MEMORY_PAGES = 6 };

/* Scattered pages, mapped for DMA, and the expected bytes. */
struct memory {
	struct page *page[MEMORY_PAGES];
	struct scatterlist sg[MEMORY_PAGES];
	u8 *model;
	unsigned int first;	/* first byte, in the first page */
	size_t length;
};

/* Random bytes; @first and @end are offsets in the first and the last page. */
struct memory *memory_new(struct kunit *test, unsigned int first, unsigned int end);
void memory_free(struct memory *memory);
void memory_check(struct kunit *test, struct memory *memory);
/* The model gets @length bytes at @at. */
void memory_expect(struct memory *memory, size_t at, const void *from, size_t length);

/* A contiguous buffer of random bytes, used by the local DMA key. */
struct flat {
	u8 *data;
	u64 address;
	size_t length;
};

struct flat *flat_new(struct kunit *test, size_t length);
void flat_free(struct flat *flat);
struct ib_sge flat_sge(struct pair *pair, struct flat *flat, size_t length);

/* ------------------------------------------------- files for user space (files.c) */

/* A file in debugfs. One user at a time; nothing is called while the device comes or goes. */
struct kverbs_file {
	const char *name;
	/* Its objects on the device, when it is opened; @free also undoes half of them. */
	int (*make)(struct ib_device *device);
	void (*free)(void);
	ssize_t (*read)(char __user *to, size_t length, loff_t *offset);	/* may be NULL */
	ssize_t (*write)(const char __user *from, size_t length, loff_t *offset);
	/* Of files.c. After the device has gone it is busy, and there is nothing. */
	bool busy, made;
};

/* By which a process has calls made in its own context (calls.c). */
extern struct kverbs_file calls_file;
/* By which a process works a queue pair whose peer is another process (peer.c). */
extern struct kverbs_file peer_file;

int kverbs_files_init(void);
void kverbs_files_exit(void);

/* -------------------------------------------------------------- tests (fastreg.c) */

extern struct kunit_case fastreg_cases[];
int fastreg_init(struct kunit *test);
void fastreg_exit(struct kunit *test);

/* --------------------------------------------------------------- tests (limits.c) */

/* group.c and completions.c use it, too. */
struct limited {
	struct ib_pd *pd;
	struct ib_cq *cq;
};

extern struct kunit_case limits_cases[];
int limits_init(struct kunit *test);
void limits_exit(struct kunit *test);

/* ---------------------------------------------------------------- tests (group.c) */

extern struct kunit_case group_cases[];

/* ---------------------------------------------------------- tests (completions.c) */

extern struct kunit_case completions_cases[];

#endif /* PINION_KVERBS_H */
