/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Output of the box: lines of the kernel's log, and frames to and from the host.
 */
#ifndef BOX_CHANNEL_H
#define BOX_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../frame.h"

/* Write a line to the kernel's log. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void power_off(void) __attribute__((noreturn));
/* The box failed: tell the caller if the channel is open, write to the log, and power off. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Open the channel. Waits up to a minute for its device. */
void channel_open(const char *path);
/* Return: the descriptor to poll. */
int channel_fd(void);
/*
 * Return: a frame from the host, valid until the next call; NULL if there is none. Does not wait.
 */
const struct frame *channel_read(void);
/* Wait until everything was sent. */
void channel_drain(void);

void send_frame(int type, const void *data, size_t len);
void send_value(int type, int32_t value);
/* Send data of any length, in as many frames as necessary. */
void send_bytes(int type, const char *data, size_t len);

#endif /* BOX_CHANNEL_H */
