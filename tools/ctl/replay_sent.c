// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * replay: which requests of a send queue await their completions in the recording, and which of
 * them were left out here: these will have none.
 */
#include <stdlib.h>

#include "ctl.h"
#include "replay.h"

struct sent {
	struct sent *next;
	uint64_t wr_id;
	bool signaled;
	bool left;
};

void sent_add(struct queue *queue, const struct call *call, bool left)
{
	bool signaled = call_value(call, "flags") & IBV_SEND_SIGNALED;
	struct sent *sent = need(malloc(sizeof(*sent)));

	*sent = (struct sent){ .wr_id = call_value(call, "wr_id"),
			       .signaled = signaled || queue->all_signaled,
			       .left = left };
	if (queue->sent)
		queue->sent_last->next = sent;
	else
		queue->sent = sent;
	queue->sent_last = sent;
}

static void sent_next(struct queue *queue)
{
	struct sent *sent = queue->sent;

	queue->sent = sent->next;
	free(sent);
}

void sent_forget(struct queue *queue)
{
	while (queue->sent)
		sent_next(queue);
}

/* The request that this is the completion of. NULL: it was a receive. */
static struct sent *sent_of(struct queue *queue, const struct call *call)
{
	bool good = call_value(call, "status") == IBV_WC_SUCCESS;
	struct sent *sent = queue->sent;

	if (good && (call_value(call, "opcode") & IBV_WC_RECV))
		return NULL;
	while (sent && (sent->wr_id != call_value(call, "wr_id") ||
			(good && !sent->signaled)))
		sent = sent->next;
	return sent;
}

/* Requests complete in their order: those before this one will not complete any more. */
bool sent_was_left(struct queue *queue, const struct call *call)
{
	struct sent *sent = sent_of(queue, call);
	bool left;

	if (!sent)
		return false;
	left = sent->left;
	while (queue->sent != sent)
		sent_next(queue);
	sent_next(queue);
	return left;
}
