// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A file system in user space (FUSE) with one file, whose server answers no read as long as it is
 * told to hold them back. It is a process of its own and speaks the kernel's protocol itself. If it
 * dies the kernel ends all that waits for it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "device.h"
#include "slow.h"

enum { FILE_NODE = 2, MOST_HELD = 64, MOST_WRITE = 128 << 10 };

/* In shared memory. */
struct slow_file {
	_Atomic bool hold;
	volatile unsigned int waiting; /* reads that are held back */
};

struct held {
	uint64_t unique;
	uint32_t size;
};

static int connection;
static int server;
static char place[] = "/tmp/slow.XXXXXX";

/* ---------------------------------------------------------------- the server */

static void answer(uint64_t unique, int error, const void *body, size_t length)
{
	struct fuse_out_header head = {
		.len = sizeof(head) + length,
		.error = error,
		.unique = unique,
	};
	struct iovec parts[2] = { { &head, sizeof(head) },
				  { (void *)body, length } };

	/* ENOENT: nobody waits for the answer any more. */
	if (writev(connection, parts, 2) < 0)
		CHECK_EQ(errno, ENOENT);
}

static struct fuse_attr attributes(uint64_t node)
{
	bool file = node == FILE_NODE;

	return (struct fuse_attr){
		.ino = node,
		.size = file ? SLOW_LEN : 0,
		.blksize = 4096,
		.mode = file ? S_IFREG | 0600 : S_IFDIR | 0755,
		.nlink = 1,
	};
}

static void answer_read(uint64_t unique, uint32_t size)
{
	static const uint8_t zeros[SLOW_LEN];

	answer(unique, 0, zeros, size < SLOW_LEN ? size : SLOW_LEN);
}

static void begin_connection(const struct fuse_in_header *head)
{
	const struct fuse_init_in *in = (const void *)(head + 1);
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = in->minor < FUSE_KERNEL_MINOR_VERSION ?
				 in->minor :
				 FUSE_KERNEL_MINOR_VERSION,
		.max_write = MOST_WRITE,
		.time_gran = 1,
	};

	answer(head->unique, 0, &out, sizeof(out));
}

static void answer_attributes(const struct fuse_in_header *head)
{
	struct fuse_attr_out out = { .attr_valid = 3600 };

	out.attr = attributes(head->nodeid);
	answer(head->unique, 0, &out, sizeof(out));
}

static void find(const struct fuse_in_header *head)
{
	struct fuse_entry_out out = {
		.nodeid = FILE_NODE,
		.entry_valid = 3600,
		.attr_valid = 3600,
		.attr = attributes(FILE_NODE),
	};

	answer(head->unique, 0, &out, sizeof(out));
}

static void take_written(const struct fuse_in_header *head)
{
	const struct fuse_write_in *in = (const void *)(head + 1);
	struct fuse_write_out out = { .size = in->size };

	answer(head->unique, 0, &out, sizeof(out));
}

static void serve(const struct fuse_in_header *head, struct held *held)
{
	const struct fuse_read_in *read = (const void *)(head + 1);
	struct fuse_open_out open = { .fh = 1 };

	switch (head->opcode) {
	case FUSE_INIT:
		begin_connection(head);
		break;
	case FUSE_LOOKUP:
		find(head);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer_attributes(head);
		break;
	case FUSE_OPEN:
		answer(head->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		*held = (struct held){ head->unique, read->size };
		break;
	case FUSE_WRITE:
		take_written(head);
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		answer(head->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		/* These have no answer; who is interrupted waits on. */
		break;
	default:
		answer(head->unique, -ENOSYS, NULL, 0);
	}
}

static void serve_all(void *arg)
{
	static char request[MOST_WRITE + 8192]
		__attribute__((aligned(sizeof(uint64_t))));
	struct pollfd ready = { .fd = connection, .events = POLLIN };
	struct held held[MOST_HELD] = {};
	struct slow_file *file = arg;

	for (;;) {
		while (!file->hold && file->waiting) {
			file->waiting--;
			answer_read(held[file->waiting].unique,
				    held[file->waiting].size);
		}
		if (poll(&ready, 1, 1) <= 0)
			continue;
		/* ENODEV: not mounted any more. */
		if (read(connection, request, sizeof(request)) < 0) {
			if (errno == ENODEV)
				return;
			CHECK(errno == EINTR || errno == EAGAIN ||
			      errno == ENOENT);
			continue;
		}
		CHECK(file->waiting < MOST_HELD);
		held[file->waiting].unique = 0;
		serve((void *)request, &held[file->waiting]);
		if (held[file->waiting].unique)
			file->waiting++;
	}
}

/* ------------------------------------------------------------------ the file */

static void mount_it(void)
{
	char options[96];

	connection = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (connection < 0)
		skip("no FUSE in this kernel");
	/* Seen by this process and its children only, and gone with them. */
	CHECK_EQ(unshare(CLONE_NEWNS), 0);
	CHECK_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	strcpy(place + sizeof(place) - 7, "XXXXXX");
	MUST(mkdtemp(place));
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", connection);
	CHECK_EQ(mount("slow", place, "fuse", MS_NOSUID | MS_NODEV, options),
		 0);
}

struct slow slow_file_new(void)
{
	char path[sizeof(place) + 8];
	struct slow slow;

	need_root();
	mount_it();
	slow.file = mmap(NULL, sizeof(*slow.file), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(slow.file != MAP_FAILED);
	server = spawn(serve_all, slow.file);
	close(connection);
	snprintf(path, sizeof(path), "%s/file", place);
	slow.fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(slow.fd >= 0);
	slow.map = mmap(NULL, SLOW_LEN, PROT_READ | PROT_WRITE, MAP_SHARED,
			slow.fd, 0);
	CHECK(slow.map != MAP_FAILED);
	return slow;
}

void slow_file_hold(struct slow_file *file, bool hold)
{
	file->hold = hold;
}

unsigned int slow_file_waiting(const struct slow_file *file)
{
	return file->waiting;
}

void slow_file_end(struct slow_file *file)
{
	CHECK_EQ(umount2(place, MNT_DETACH), 0);
	CHECK_EQ(rmdir(place), 0);
	kill(server, SIGKILL);
	reap(server);
	CHECK_EQ(munmap(file, sizeof(*file)), 0);
}
