// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <termios.h>

#include "channel.h"

static int channel = -1;

void say(const char *fmt, ...)
{
	char buf[512] = "box: ";
	size_t at = strlen(buf);
	va_list ap;
	int fd;

	va_start(ap, fmt);
	vsnprintf(buf + at, sizeof(buf) - at, fmt, ap);
	va_end(ap);
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* One write is one line of the log. */
	(void)!write(fd, buf, strlen(buf));
	close(fd);
}

void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

void die(const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n = snprintf(buf, sizeof(buf), "pinion-box: ");

	va_start(ap, fmt);
	vsnprintf(buf + n, sizeof(buf) - n - 1, fmt, ap);
	va_end(ap);
	say("%s", buf);
	strcat(buf, "\n");
	if (channel >= 0) {
		send_bytes(FRAME_ERR, buf, strlen(buf));
		send_value(FRAME_DONE, 1);
	}
	power_off();
}

void channel_open(const char *path)
{
	struct termios t;
	int i;

	/* A virtio port appears a moment after its driver. */
	for (i = 0; i < 6000; i++) {
		channel = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (channel >= 0)
			break;
		usleep(10000);
	}
	if (channel < 0) {
		say("no channel to the host at %s: %s", path, strerror(errno));
		power_off();
	}
	if (!tcgetattr(channel, &t)) {
		cfmakeraw(&t);
		tcsetattr(channel, TCSANOW, &t);
	}
}

int channel_fd(void)
{
	return channel;
}

const struct frame *channel_read(void)
{
	static struct frame_reader reader;
	int flags = fcntl(channel, F_GETFL), result;

	fcntl(channel, F_SETFL, flags | O_NONBLOCK);
	result = frame_read(channel, &reader);
	fcntl(channel, F_SETFL, flags & ~O_NONBLOCK);
	return result == 1 ? &reader.f : NULL;
}

void channel_drain(void)
{
	tcdrain(channel);
}

void send_frame(int type, const void *data, size_t len)
{
	struct frame f = { .type = type, .len = len };

	if (len)
		memcpy(f.data, data, len);
	(void)!write_all(channel, &f, FRAME_HEADER + len);
}

void send_value(int type, int32_t value)
{
	send_frame(type, &value, sizeof(value));
}

void send_bytes(int type, const char *data, size_t len)
{
	while (len) {
		size_t n = len < FRAME_MAX ? len : FRAME_MAX;

		send_frame(type, data, n);
		data += n;
		len -= n;
	}
}
