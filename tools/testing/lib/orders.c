// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "orders.h"

#define ORDERS "/sys/kernel/debug/pinion/inject"

int orders_open(int flags)
{
	return open(ORDERS, flags | O_CLOEXEC);
}

/* Write @text and close @fd. Return: 0 or an errno. */
static int orders_write(int fd, const char *text)
{
	int err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

int orders_try(const char *text)
{
	return orders_write(orders_open(O_WRONLY), text);
}

void orders_off(void)
{
	CHECK_EQ(orders_try("off"), 0);
}

void orders_begin(void)
{
	int fd;

	need_root();
	if (!dev.pinion)
		skip("other devices take no orders");
	fd = orders_open(O_RDONLY);
	if (fd < 0)
		skip("no debugfs");
	close(fd);
	/* A test that failed may have left some. */
	orders_off();
}

void order(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	context("%s", text);
	CHECK_EQ(orders_try(text), 0);
}

unsigned long long ordered(const char *name)
{
	FILE *file = MUST(fopen(ORDERS, "re"));
	char line[512], key[32];
	const char *at;

	CHECK(fgets(line, sizeof(line), file));
	fclose(file);
	snprintf(key, sizeof(key), " %s ", name);
	at = MUST(strstr(line, key));
	return strtoull(at + strlen(key), NULL, 0);
}

void orders_over(unsigned int times)
{
	CHECK_EQ(ordered("failed"), times);
	orders_off();
}

int orders_file(const char *device, const char *file, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/%s", device,
		 file);
	return open(path, flags | O_CLOEXEC);
}

int orders_force(const char *device, const char *file, const char *text)
{
	return orders_write(orders_file(device, file, O_WRONLY), text);
}

int orders_invalidate(const char *fmt, ...)
{
	char text[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return orders_force(ibv_get_device_name(dev.ctx->device), "invalidate",
			    text);
}
