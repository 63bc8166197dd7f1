// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "file.h"
#include "orders.h"

int orders_try(const char *text)
{
	return file_write(text, ORDERS);
}

void orders_off(void)
{
	CHECK_EQ(orders_try("off"), 0);
}

void orders_begin(void)
{
	need_root();
	if (!dev.pinion)
		skip("other devices take no orders");
	if (access(ORDERS, F_OK))
		skip("no debugfs");
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

int orders_invalidate(const char *fmt, ...)
{
	char text[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return file_write(text, "/sys/kernel/debug/pinion/%s/invalidate",
			  ibv_get_device_name(dev.ctx->device));
}

int orders_main(int argc, char **argv, const char *about,
		const struct test *tests, size_t count)
{
	int rc = harness_main(argc, argv, about, tests, count);

	if (!access(ORDERS, W_OK) && orders_try("off"))
		rc = rc ?: 1;
	return rc;
}
