/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Asynchronous events of the device and completion events, with patience.
 */
#ifndef PINION_TEST_EVENT_H
#define PINION_TEST_EVENT_H

#include "device.h"

/* The next one, acknowledged; false if none comes in time. */
bool event_next(struct ibv_async_event *event, double seconds);
/* Forget those that are there. */
void event_forget(void);
/* One of this type comes; others are skipped. */
struct ibv_async_event event_await(enum ibv_event_type type);
/* None of this type comes. */
void event_none(enum ibv_event_type type, double seconds);

/* A completion event on @channel; false if none comes in time. */
bool channel_next(struct ibv_comp_channel *channel, double seconds);
/* There must be one. */
void channel_await(struct ibv_comp_channel *channel);

#endif /* PINION_TEST_EVENT_H */
