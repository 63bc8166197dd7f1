/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A model of what calls of verbs and changes of memory mean, and lists of such calls: see
 * conformance/model.c, which has the tests. A list is random numbers, so each of its calls means
 * something wherever it stands, also after others have been left out.
 */
#ifndef PINION_TEST_MODEL_H
#define PINION_TEST_MODEL_H

#include "dmabuf.h"
#include "window.h"

enum {
	PDS = 4,
	LASTING = 2, /* domains that do not come and go */
	LINKS = 3, /* the last one may be in any domains */
	SPACES = 6,
	PAGES = 8, /* of a space; the first and the last of them are never in a region */
	REGIONS = 8,
	WINDOWS = 4,
	LEN = (PAGES - 2) * 4096, /* of a space, what can be in a region */
	MOST = 9000, /* bytes of a message */
	CALLS = 250,
	NUMBERS = 10, /* random numbers for a call */
	MESSAGE_OPS = 4,
	SEND_OPS = 4,
	FLUSH_ENDS = 4,
	ERRNOS = 128,
	SGES = 4,
	INLINE_MOST = 256, /* bytes that a request can have in itself */
};

enum kind {
	REG,
	DEREG,
	REREG,
	BIND,
	INVALIDATE,
	MESSAGE, /* RDMA and atomics */
	SEND, /* what takes a receive request */
	FLUSH,
	BREAK, /* queue pairs fail, with requests in them */
	RELINK, /* other queue pairs, in other domains */
	ALLOC_PD,
	DEALLOC_PD,
	LOOK, /* read all of a region */
	ADVISE,
	POKE, /* the process writes */
	DROP, /* MADV_DONTNEED */
	UNMAP,
	MAP,
	PROTECT,
	REMAP, /* mremap() */
	PUNCH, /* a hole in a file */
	MOVE, /* of a dma-buf, by its exporter */
	TAKE, /* the exporter maps the dma-buf no more, or again */
	KINDS,
};

struct call {
	enum kind kind;
	uint32_t r[NUMBERS];
	bool left_out;
};

/* ------------------------------------------------------------------ memory */

/* Contents of a page, wherever it is mapped or pinned. Never freed: a list is short. */
struct frame {
	uint8_t bytes[4096];
};

enum space_kind {
	SPACE_PRIVATE, /* anonymous memory */
	SPACE_SHARED, /* a file in memory */
	SPACE_DMABUF,
	SPACE_DEVICE, /* device memory */
};

struct space {
	enum space_kind kind;
	uint8_t *map; /* NULL: the process cannot see it */
	struct {
		struct frame *frame; /* NULL: nothing is mapped */
		int prot;
	} page[PAGES];
	int fd; /* SPACE_SHARED */
	struct frame *file[PAGES];
	struct dmabuf dmabuf;
	bool moves; /* a dma-buf of the exporter for tests */
	bool away; /* which maps it no more */
	bool moved; /* and no message has been there since */
	struct ibv_dm *dm;
};

extern struct space spaces[SPACES];
extern int spaces_count;

/* @special: also dma-bufs and device memory, where there are such. */
void memory_set_up(bool special);
/* Compare all that the process can see with the model. */
void memory_check(void);
/* Is what the exporter of the dma-bufs has counted in order? */
void memory_check_exporter(void);
/* The space that has @addr; NULL: none. */
struct space *memory_space_at(uint64_t addr);
/* May the process read, or read and write, [@at, @at + @length) of @space? */
bool memory_allows(const struct space *space, uint64_t at, uint64_t length,
		   bool write);

void call_poke(const uint32_t *n);
void call_drop(const uint32_t *n);
void call_unmap(const uint32_t *n);
void call_map(const uint32_t *n);
void call_protect(const uint32_t *n);
void call_remap(const uint32_t *n);
void call_punch(const uint32_t *n);
void call_move(const uint32_t *n);
void call_take(const uint32_t *n);

/* ----------------------------------------------------------------- domains */

extern struct ibv_pd *pds[PDS]; /* NULL: there is none */

void domain_set_up(void);
/* One that exists, mostly of those that stay. */
int domain_some(uint32_t r);
void call_alloc_pd(const uint32_t *n);
void call_dealloc_pd(const uint32_t *n);

/* ----------------------------------------------------------------- regions */

enum region_kind {
	REGION_USER, /* pinned or on demand */
	REGION_IMPLICIT,
	REGION_DMABUF,
	REGION_DEVICE,
	REGION_NULL,
};

struct model_region {
	struct ibv_mr *mr; /* NULL: no region */
	enum region_kind kind;
	int pd, access, windows;
	bool writable; /* pinned for writing */
	bool raw; /* libibverbs does not change it: it began as a dma-buf's, or is rxe's */
	struct space *space; /* NULL: any, or none */
	uint64_t base, at, length;
	uint32_t lkey, rkey; /* the last ones, if it is gone */
	struct frame *pinned[PAGES]; /* when they were pinned */
};

extern struct model_region regions[REGIONS];

void region_set_up(bool special);
bool region_on_demand(const struct model_region *r);
/*
 * The page behind byte @off of @r, and where in it: NULL if an access faults. Never called for
 * REGION_NULL.
 */
struct frame *region_frame(const struct model_region *r, uint64_t off,
			   bool write, uint32_t *within);
/* Where in @r messages go: [*@first, + *@room). @n: of a region of all memory a part. */
void region_span(const struct model_region *r, uint32_t n, uint64_t *first,
		 uint64_t *room);
void call_reg(const uint32_t *n);
void call_dereg(const uint32_t *n);
void call_rereg(const uint32_t *n);
void call_advise(const uint32_t *n);

/* ----------------------------------------------------- windows and messages */

struct model_window {
	struct ibv_mw *mw;
	int region; /* -1: not bound */
	int link, access;
	uint64_t at, length; /* offset in the region */
};

extern struct link links[LINKS];
extern int link_pds[LINKS][2]; /* domains of ends a and b */
extern struct model_window windows[WINDOWS];

void link_set_up(void);
/* Connect a link again after an error. */
void link_again(int link);
void window_set_up(void);
/* It is not bound any more. */
void window_unbound(struct model_window *w);
/* No window is bound to this link any more. */
void window_leave(int link);
/* If it is not bound, it is one of this domain from now on. */
void window_move(int window, int pd);
void call_bind(const uint32_t *n);
void call_invalidate(const uint32_t *n);
void call_relink(const uint32_t *n);

void call_message(const uint32_t *n);
void call_send(const uint32_t *n);
void call_flush(const uint32_t *n);
void call_break(const uint32_t *n);

void look_set_up(void);
void call_look(const uint32_t *n);
/* Read a region, and compare. False: there is nothing to be read. */
bool look_at(const struct model_region *r, uint32_t part);
/* Read all regions, and compare. */
void look_at_all(void);

/* ------------------------------------------------------------------- lists */

/* Sums over all lists, in shared memory. */
struct counts {
	unsigned int done[KINDS], refused[KINDS];
	unsigned int errnos[KINDS][ERRNOS]; /* of calls that have such */
	/* messages that met a page that was not there: at their own side, or at the other */
	unsigned int local_faults, remote_faults;
	unsigned int
		gone; /* bytes were in a page that the process does not see any more */
	unsigned int kinds[REGION_NULL +
			   1]; /* messages from or to regions of this kind */
	unsigned int ops[MESSAGE_OPS]; /* messages of this operation */
	/* messages by the key of a window: those that it refused, and others */
	unsigned int by_window[2];
	/* messages that a key refused: at their own side, or at the other, by syndrome */
	unsigned int why[2][32];
	/* messages to or from dma-bufs that were away; or had moved */
	unsigned int away, moved;
	/* messages of several pieces, of inline data, and the requests behind one that failed */
	unsigned int lists, inlined, behind;
	unsigned int sends[SEND_OPS]; /* that were received, by operation */
	unsigned int late; /* that came before the receive request */
	unsigned int empty; /* of no bytes */
	/* receive requests: too short, with bad memory, and flushed since another side was bad */
	unsigned int short_receives, bad_receives, other_receives;
	unsigned int invalidated[2]; /* by a send: refused, and done */
	unsigned int flushes[FLUSH_ENDS]; /* by what they end with */
	/* requests of failed queue pairs: all, that waited then, that came later, visible writes */
	unsigned int flushed, flushed_waiting, flushed_later, flushed_writes;
	unsigned int foreign; /* links between other domains than the first two */
	unsigned int entries[2]; /* of tables, compared: on demand, and pinned */
	unsigned int left_out[32]; /* by enum lack */
};

extern struct counts *counts;
extern bool loud; /* print each call */

/* Set what the next call is, for the case that it fails. */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A call that is to succeed, or to fail, has done so; else the test fails. */
void judge_good(enum kind kind, bool good, bool expected);
/* The same of one that says why. @err, @expected: 0 or an errno. */
void judge(enum kind kind, int err, int expected);

struct list {
	struct call *calls;
	size_t count;
	uint64_t seed;
	bool special, silent;
};

const char *kind_name(enum kind kind);

/* Make a list by its seed; @weights: how often each kind comes. */
void list_make(struct list *list, const uint8_t *weights);
/* Carry it out in a process of its own. */
bool list_fails(struct list *list);
/* Leave out calls that are not needed for the failure. Returns how many are left. */
size_t list_shorten(struct list *list);

/* A test: how often each kind of call comes, and whether there are regions of all kinds. */
struct mixture {
	const char *item;
	bool special;
	uint8_t weights[KINDS];
};

/* Has each call and each of its ends been met that this mixture is to have? */
bool seen_all(const struct mixture *mixture);
void seen_tell(const struct mixture *mixture);

/* ----------------------------------------------------------- other devices */

/* What rdma_rxe lacks or does otherwise. */
enum lack {
	LACK_TRANSLATION,
	LACK_ZERO_BASED,
	LACK_ODP_BYTES,
	LACK_ODP_IOVA,
	LACK_ODP_CHANGE,
	LACK_ADVICE_PINNED,
	LACK_ADVICE_RANGE,
	LACK_ADVICE_RIGHTS,
	LACK_LOCAL_STATUS,
	LACK_LOCAL_PART,
	LACK_RESET,
	LACK_WINDOW_BOUNDS,
	LACK_WINDOW_ZERO,
	LACK_WINDOW_DOMAIN,
	LACK_WINDOW_REREG,
	LACK_WINDOW_UNBOUND,
	LACK_WINDOW_QUEUE,
	LACK_INVALIDATED,
	LACK_NO_LENGTH,
	LACK_RECEIVE_STATUS,
	LACK_FLUSH,
	LACK_LATER,
	LACKS,
};

/* Whether the device is one that the model knows: pinion or rxe. */
bool other_known(void);
/* Is something to be left out, since the device is not pinion? Counts it. */
bool other_lacks(enum lack lack);
/* Print what was left out, and why. */
void other_tell(void);

#endif /* PINION_TEST_MODEL_H */
