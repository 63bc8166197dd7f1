// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a run has met: a call that never came, or came in one way only, was not tested.
 */
#include "dmabuf.h"
#include "model.h"
#include "table.h"

/* The index of this operation in counts->sends. */
enum { SEND_WITH_INV = 2 };

/* Have those that can be refused been so? */
static bool can_be_refused(const struct mixture *mixture, enum kind kind)
{
	switch (kind) {
	case REG:
	case REREG:
	case BIND:
	case MESSAGE:
	case DEALLOC_PD:
		return true;
	case SEND:
	case FLUSH:
	case ADVISE:
		/* What rxe would refuse is mostly left out. */
		return dev.pinion;
	case DEREG:
		return mixture->weights[BIND];
	default:
		return false;
	}
}

/* Calls of this kind cannot be made here. */
static bool is_missing(const struct mixture *mixture, enum kind kind)
{
	if (!mixture->weights[kind])
		return true;
#ifndef HAVE_WR_FLUSH
	if (kind == FLUSH)
		return true;
#endif
	return (kind == MOVE || kind == TAKE) &&
	       !dmabuf_there(&dmabuf_kinds[4]);
}

static bool special_seen(void)
{
	bool implicit = dev.attr.odp_caps.general_caps &
			IBV_ODP_SUPPORT_IMPLICIT;

	return (!implicit || counts->kinds[REGION_IMPLICIT]) &&
	       counts->kinds[REGION_NULL] &&
	       (!dev.attr.max_dm_size || counts->kinds[REGION_DEVICE]) &&
	       (!dmabuf_there(&dmabuf_kinds[4]) ||
		(counts->kinds[REGION_DMABUF] && counts->away &&
		 counts->moved));
}

/*
 * Of a pinion device each reason is known: has each been met? Rights are rarely what a message
 * lacks at its own side.
 */
static bool refusals_seen(const struct mixture *mixture)
{
	const unsigned int *own = counts->why[0], *other = counts->why[1];

	return own[PINION_SYN_KEY_UNKNOWN] && own[PINION_SYN_KEY_RANGE] &&
	       other[PINION_SYN_KEY_UNKNOWN] && other[PINION_SYN_KEY_RIGHTS] &&
	       other[PINION_SYN_KEY_RANGE] &&
	       (!mixture->weights[BIND] || other[PINION_SYN_KEY_STATE]);
}

static bool each(const unsigned int *counts, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!counts[i])
			return false;
	return true;
}

/*
 * Messages of each operation have come, of lists, inline and with others behind them; and the key
 * of a window was refused, and was not.
 */
static bool messages_seen(const struct mixture *mixture)
{
	return each(counts->ops, MESSAGE_OPS) && counts->lists &&
	       counts->inlined && counts->behind &&
	       (!mixture->weights[BIND] || each(counts->by_window, 2));
}

/*
 * Each operation that takes a receive request has done so, before and behind the message; and each
 * way in which one can be bad was met, but by rxe, which completes it otherwise.
 */
static bool sends_seen(const struct mixture *mixture)
{
	int op;

	if (!mixture->weights[SEND])
		return true;
	for (op = 0; op < SEND_OPS; op++)
		if (!counts->sends[op] &&
		    (op != SEND_WITH_INV || mixture->weights[BIND]))
			return false;
	if (!counts->late || !counts->empty)
		return false;
	if (!dev.pinion)
		return true;
	return counts->short_receives && counts->bad_receives &&
	       counts->other_receives && counts->invalidated[false] &&
	       (!mixture->weights[BIND] || counts->invalidated[true]);
}

/* Each end of a flush; of queue pairs that fail what they had, what waited and what came later. */
static bool ends_seen(const struct mixture *mixture)
{
	if (!is_missing(mixture, FLUSH) && dev.pinion &&
	    !each(counts->flushes, FLUSH_ENDS))
		return false;
	if (mixture->weights[BREAK] &&
	    (!counts->flushed || !counts->flushed_waiting ||
	     !counts->flushed_later || !counts->flushed_writes))
		return false;
	return !mixture->weights[RELINK] || counts->foreign;
}

/* Of a pinion device each reason is known for which a region is not made, or not changed. */
static bool errnos_seen(const struct mixture *mixture)
{
	const unsigned int *reg = counts->errnos[REG];
	const unsigned int *rereg = counts->errnos[REREG];
	bool unmaps = mixture->weights[UNMAP];

	if (!reg[EINVAL] || !rereg[EINVAL] || !rereg[ENOENT] ||
	    !rereg[EOPNOTSUPP] || !rereg[EACCES])
		return false;
	if (mixture->weights[BIND] &&
	    (!rereg[EBUSY] || !counts->errnos[DEREG][EBUSY]))
		return false;
	if (mixture->weights[DEALLOC_PD] && !counts->errnos[DEALLOC_PD][EBUSY])
		return false;
	return !unmaps || (reg[EFAULT] && rereg[EFAULT]);
}

/*
 * Each call has succeeded at least once, and failed if it has a reason to; messages have met pages
 * that were not there, and pages that were pinned and then replaced.
 */
bool seen_all(const struct mixture *mixture)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++) {
		if (is_missing(mixture, kind))
			continue;
		if (!counts->done[kind] ||
		    (can_be_refused(mixture, kind) && !counts->refused[kind]))
			return false;
	}
	if (table_is_readable() && !each(counts->entries, 2))
		return false;
	if (!messages_seen(mixture) || !sends_seen(mixture) ||
	    !ends_seen(mixture) || (mixture->special && !special_seen()) ||
	    (dev.pinion && (!refusals_seen(mixture) || !errnos_seen(mixture))))
		return false;
	return !mixture->weights[UNMAP] ||
	       (counts->local_faults && counts->remote_faults && counts->gone);
}

void seen_tell(const struct mixture *mixture)
{
	enum kind kind;
	int err;

	for (kind = 0; kind < KINDS; kind++)
		if (mixture->weights[kind])
			note("%s: %u done, %u refused", kind_name(kind),
			     counts->done[kind], counts->refused[kind]);
	for (kind = 0; kind < KINDS; kind++)
		for (err = 1; err < ERRNOS; err++)
			if (counts->errnos[kind][err])
				note("%s: %u times errno %d", kind_name(kind),
				     counts->errnos[kind][err], err);
	note("writes: %u, reads: %u, additions: %u, swaps: %u; by windows: %u, refused: %u",
	     counts->ops[0], counts->ops[1], counts->ops[2], counts->ops[3],
	     counts->by_window[true], counts->by_window[false]);
	note("entries of tables: %u on demand, %u pinned", counts->entries[0],
	     counts->entries[1]);
	note("lists: %u, inline: %u, flushed behind another: %u", counts->lists,
	     counts->inlined, counts->behind);
	note("sends: %u, with immediate: %u, with invalidate: %u, refused: %u, writes with immediate: %u; late: %u, of no bytes: %u",
	     counts->sends[0], counts->sends[1], counts->sends[SEND_WITH_INV],
	     counts->invalidated[false], counts->sends[3], counts->late,
	     counts->empty);
	note("receive requests too short: %u, bad: %u, of a sender that was bad: %u",
	     counts->short_receives, counts->bad_receives,
	     counts->other_receives);
	note("flushes: %u, refused: %u, by the queue pair: %u, senseless: %u",
	     counts->flushes[0], counts->flushes[1], counts->flushes[2],
	     counts->flushes[3]);
	note("requests of queue pairs that failed: %u, that waited: %u, that came later: %u; links in other domains: %u",
	     counts->flushed, counts->flushed_waiting, counts->flushed_later,
	     counts->foreign);
	note("refused: %u unknown, %u rights, %u range; at the other side %u, %u, %u, %u by windows' states",
	     counts->why[0][PINION_SYN_KEY_UNKNOWN],
	     counts->why[0][PINION_SYN_KEY_RIGHTS],
	     counts->why[0][PINION_SYN_KEY_RANGE],
	     counts->why[1][PINION_SYN_KEY_UNKNOWN],
	     counts->why[1][PINION_SYN_KEY_RIGHTS],
	     counts->why[1][PINION_SYN_KEY_RANGE],
	     counts->why[1][PINION_SYN_KEY_STATE]);
	note("dma-bufs that were away: %u, had moved: %u", counts->away,
	     counts->moved);
	note("pages missing at their own side: %u, at the other: %u; not seen by the process: %u",
	     counts->local_faults, counts->remote_faults, counts->gone);
	other_tell();
}
