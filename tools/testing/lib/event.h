/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Asynchronous events of the device and completion events, awaited with a time limit.
 */
#ifndef PINION_TEST_EVENT_H
#define PINION_TEST_EVENT_H

#include "device.h"

/* Get and acknowledge the next event; false if none comes in time. */
bool event_next(struct ibv_async_event *event, double seconds);
/* Discard all pending events. */
void event_forget(void);
/* Wait for an event of this type; other events are discarded. */
struct ibv_async_event event_await(enum ibv_event_type type);
/* The same of a context of another device. */
struct ibv_async_event event_await_of(struct ibv_context *ctx,
				      enum ibv_event_type type);
/* The test fails if an event of this type comes. */
void event_none(enum ibv_event_type type, double seconds);

/* A completion event on @channel; false if none comes in time. */
bool channel_next(struct ibv_comp_channel *channel, double seconds);
/* The test fails if none comes. */
void channel_await(struct ibv_comp_channel *channel);

#endif /* PINION_TEST_EVENT_H */
