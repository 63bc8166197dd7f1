// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Waits for events. Each is acknowledged at once, so that its object can be destroyed.
 */
#include <poll.h>

#include "event.h"
#include "link.h"

static bool readable(int fd, double seconds)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, seconds * 1000) > 0;
}

static bool next_of(struct ibv_context *ctx, struct ibv_async_event *event,
		    double seconds)
{
	if (!readable(ctx->async_fd, seconds))
		return false;
	CHECK_EQ(ibv_get_async_event(ctx, event), 0);
	ibv_ack_async_event(event);
	return true;
}

bool event_next(struct ibv_async_event *event, double seconds)
{
	return next_of(dev.ctx, event, seconds);
}

void event_forget(void)
{
	struct ibv_async_event event;

	while (event_next(&event, 0.05))
		;
}

struct ibv_async_event event_await_of(struct ibv_context *ctx,
				      enum ibv_event_type type)
{
	double limit = now() + patience(PATIENCE);
	struct ibv_async_event event;

	while (now() < limit) {
		if (next_of(ctx, &event, 0.2) && event.event_type == type)
			return event;
	}
	FAIL("no event %s", ibv_event_type_str(type));
}

struct ibv_async_event event_await(enum ibv_event_type type)
{
	return event_await_of(dev.ctx, type);
}

void event_none(enum ibv_event_type type, double seconds)
{
	struct ibv_async_event event;

	while (event_next(&event, seconds)) {
		if (event.event_type == type)
			FAIL("an unexpected event %s",
			     ibv_event_type_str(type));
	}
}

bool channel_next(struct ibv_comp_channel *channel, double seconds)
{
	struct ibv_cq *cq;
	void *context;

	if (!readable(channel->fd, seconds))
		return false;
	CHECK_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	return true;
}

void channel_await(struct ibv_comp_channel *channel)
{
	if (!channel_next(channel, patience(PATIENCE)))
		FAIL("no completion event");
}
