// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH. Memory is coherent, so visibility needs a memory barrier only. For persistence each run
 * of the range is written back from the CPU's caches, inside the gate of its key, once it is known
 * to be persistent memory, which is asked outside.
 */
#include <linux/sched.h>

#include "../mem/inject.h"
#include "../mem/pager.h"
#include "../mem/persist.h"
#include "carry.h"
#include "flush.h"
#include "refuse.h"

static void flush_want(const struct pinion_qp *qp, const struct pinion_target *target,
		       const struct pinion_msg *msg, struct pinion_want *want)
{
	*want = (struct pinion_want){
		.pd = target->pd,
		.qpn = qp->ibqp.qp_num,
		.key = msg->rkey,
		.rights = msg->flush_rights,
		.addr = msg->remote_addr,
		.length = msg->length,
		.whole = msg->flush_all,
		.remote = true,
	};
}

/*
 * Check the key, also for a range of 0 bytes. If the whole region is meant, set @want to its range.
 * If its memory was exchanged after @era, that becomes the era of now. Return: 0 or a syndrome.
 */
static enum pinion_syndrome flush_ask(struct pinion_qp *qp, struct pinion_want *want,
				      u64 *era)
{
	struct pinion_pass pass;
	enum pinion_syndrome syndrome = pinion_key_enter_wait(&qp->node->keys, want, &pass);

	if (syndrome)
		return syndrome;
	if (want->whole) {
		want->addr = pass.key->base;
		want->length = pass.key->length;
		want->whole = false;
	}
	if (!*era || pass.era > *era)
		*era = pinion_keys_era(&qp->node->keys);
	pinion_key_leave(&pass);
	return 0;
}

/* The first run of a range: what was found inside the gate. */
struct flush_run {
	void *kva;
	u64 length;			/* 0: its first page is missing */
	bool done;			/* it was written back */
};

/*
 * Find the first run of @want inside the gate, and write it back if it is of @known. If its first
 * page is missing, @missing holds a reference to its pager. Return: 0 or a syndrome.
 */
static enum pinion_syndrome flush_inside(struct pinion_qp *qp, const struct pinion_want *want,
					 const struct pinion_persistent *known,
					 struct flush_run *run, struct pinion_missing *missing)
{
	struct pinion_want stretch = *want;
	enum pinion_syndrome syndrome;
	struct pinion_pass pass;

	stretch.length = min_t(u64, want->length, pinion_stretch());
	syndrome = pinion_key_enter_wait(&qp->node->keys, &stretch, &pass);
	if (syndrome)
		return syndrome;
	/* As for a message: not half in the old memory and half in the new. */
	if (pass.era > qp->resp.cursor.era) {
		pinion_key_leave(&pass);
		return PINION_SYN_KEY_STATE;
	}
	/*
	 * Ask for a page to be written, if the key can write: in a hole of a file, a fault for
	 * reading brings a page of zeros, which is ordinary memory; one for writing allocates a
	 * block of the file.
	 */
	pass.writes = pass.key->rights & PINION_KEY_WRITING;
	run->length = pinion_pass_run(&pass, 0, stretch.length, &run->kva);
	run->done = run->length && pinion_persist_knows(known, run->kva, run->length);
	if (run->done)
		pinion_persist_run(run->kva, run->length);
	if (!run->length) {
		*missing = (struct pinion_missing){
			.pager = pass.region->pager,
			.offset = pass.offset,
			.length = min(want->length, pass.length),
			.write = pass.writes,
		};
		pinion_pager_get(missing->pager);
	}
	pinion_key_leave(&pass);
	return 0;
}

/*
 * Write back the first run of @want. Whether memory is persistent can be asked only outside of the
 * gate. Meanwhile another page may have come there, so look again inside. Return: 0, and in *@bytes
 * those written back, 0 if the first page is missing; or a syndrome.
 */
static enum pinion_syndrome flush_run(struct pinion_qp *qp, const struct pinion_want *want,
				      struct pinion_persistent *known, u64 *bytes,
				      struct pinion_missing *missing)
{
	enum pinion_syndrome syndrome;
	struct flush_run run;

	for (;;) {
		syndrome = flush_inside(qp, want, known, &run, missing);
		*bytes = run.length;
		if (syndrome || run.done || !run.length)
			return syndrome;
		/* Not persistent (any more); the registration has checked that it was. */
		if (!pinion_persist_ask(known, run.kva, run.length))
			return PINION_SYN_FAULT;
	}
}

/*
 * @msg leaves before its end. The rest may be written back by another CPU, whose barrier says
 * nothing about what this one has written back.
 */
static void flush_leave(struct pinion_qp *qp, struct pinion_msg *msg)
{
	pinion_persist_barrier();
	pinion_carry_remember(qp, msg);
}

/*
 * resp.left counts the bytes still to be written back; it survives a missing page. The cursor, not
 * used by a FLUSH otherwise, has the era in which it began. If @era is another one, the memory was
 * exchanged: begin anew.
 */
static enum pinion_verdict flush_to_persistence(struct pinion_qp *qp,
						const struct pinion_target *target,
						struct pinion_msg *msg, struct pinion_want *want,
						u64 era)
{
	struct pinion_resp *resp = &qp->resp;
	u64 end = want->addr + want->length, stretch = pinion_stretch(), done;
	struct pinion_persistent known = {};
	enum pinion_syndrome syndrome;

	if (!msg->resumed || resp->cursor.era != era) {
		resp->cursor.era = era;
		resp->left = want->length;
	}
	while (resp->left) {
		want->addr = end - resp->left;
		want->length = resp->left;
		syndrome = flush_run(qp, want, &known, &done, &msg->missing);
		if (syndrome)
			return pinion_refuse_key(qp, syndrome);
		if (!done) {
			resp->cursor.syndrome = 0;
			flush_leave(qp, msg);
			if (pinion_lacks(qp, target, msg, &resp->cursor) == PINION_PEER_PAGE)
				return PINION_PEER_PAGE;
			return pinion_refuse_key(qp, resp->cursor.syndrome);
		}
		resp->left -= done;
		stretch = pinion_stretch_after(stretch, done);
		if (stretch || !resp->left)
			continue;
		if (pinion_carry_gives_way(qp, msg)) {
			flush_leave(qp, msg);
			return PINION_GAVE_WAY;
		}
		pinion_half_resched(&resp->lock);
		stretch = pinion_stretch();
	}
	pinion_persist_barrier();
	return PINION_ACK;
}

enum pinion_verdict pinion_flush(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg)
{
	struct pinion_want want;
	enum pinion_syndrome syndrome;
	u64 era = msg->resumed ? qp->resp.cursor.era : 0;

	flush_want(qp, target, msg, &want);
	syndrome = flush_ask(qp, &want, &era);
	if (syndrome)
		return pinion_refuse_key(qp, syndrome);
	/* Earlier writes must be visible to all CPUs before the answer is. */
	smp_mb();
	if (!(msg->flush_rights & IB_ACCESS_FLUSH_PERSISTENT))
		return PINION_ACK;
	return flush_to_persistence(qp, target, msg, &want, era);
}
