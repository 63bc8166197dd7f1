/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames in the byte stream between a box and its host: the standard streams, end of file, signals,
 * the exit status. A serial line alone could not tell end of file, nor stdout from stderr.
 */
#ifndef BOX_FRAME_H
#define BOX_FRAME_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum frame_type {
	/* to the host */
	FRAME_READY = 'R', /* the guest is up: stdin may be sent */
	FRAME_OUT = 'O',
	FRAME_ERR = 'E',
	FRAME_EXIT = 'X', /* int32: exit status of the command, as in a shell */
	FRAME_ACK = 'A', /* the command has read one FRAME_IN */
	FRAME_DONE = 'D', /* int32: status of the clean-up; the last frame */
	FRAME_UP = 'U', /* one of several hosts is up, and waits for FRAME_GO */
	FRAME_LISTENS = 'L', /* one of several hosts: the command listens */
	/* to the guest */
	FRAME_IN = 'I', /* stdin; without data: end of file */
	FRAME_WINSIZE = 'W', /* uint16 rows, columns */
	FRAME_SIGNAL = 'S', /* int32: a signal for the command */
	FRAME_KILL = 'K', /* time is up: log where all tasks wait, and stop */
	FRAME_GO = 'G', /* one of several hosts: start the command */
	FRAME_END = 'N', /* the commands of all hosts have ended */
};

#define FRAME_MAX 4096

/*
 * The guest's terminal buffers 4095 bytes, and user-mode Linux spins while that is full. So limit
 * the bytes on their way to the guest, to INPUT_FRAMES of INPUT_MAX bytes.
 */
#define INPUT_MAX 1024
#define INPUT_FRAMES 3

struct frame {
	uint8_t type;
	uint8_t pad;
	uint16_t len;
	char data[FRAME_MAX];
};

#define FRAME_HEADER offsetof(struct frame, data)

static inline int write_all(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n) {
		ssize_t r = write(fd, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		p += r;
		n -= r;
	}
	return 0;
}

/* Collects a frame from a stream, of which each read may return any part. */
struct frame_reader {
	size_t have;
	struct frame f;
};

/*
 * Return: 1: a frame is in r->f; 0: no complete frame yet; -1: the stream has ended, or is invalid.
 */
static inline int frame_read(int fd, struct frame_reader *r)
{
	for (;;) {
		size_t want = FRAME_HEADER;
		ssize_t n;

		if (r->have >= FRAME_HEADER) {
			if (r->f.len > FRAME_MAX)
				return -1;
			want += r->f.len;
			if (r->have == want) {
				r->have = 0;
				return 1;
			}
		}
		n = read(fd, (char *)&r->f + r->have, want - r->have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -1;
		r->have += n;
	}
}

#endif
