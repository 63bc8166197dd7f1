/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the box says: lines of the kernel's log, and frames to the host.
 */
#ifndef BOX_CHANNEL_H
#define BOX_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../frame.h"

/* A line of the log. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void power_off(void) __attribute__((noreturn));
/* The box itself failed: the caller hears it, or at least the console. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Waits for it to be there. */
void channel_open(const char *path);
/* To be polled. */
int channel_fd(void);
/* What the host says: a frame, good until the next call, or NULL. Does not wait. */
const struct frame *channel_read(void);
/* All that was sent has left. */
void channel_drain(void);

void send_frame(int type, const void *data, size_t len);
void send_value(int type, int32_t value);
/* Any length, in as many frames as that takes. */
void send_bytes(int type, const char *data, size_t len);

#endif /* BOX_CHANNEL_H */
