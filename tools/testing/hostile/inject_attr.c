// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel's attributes of fault injection for each kind of failure (items IN70 to IN77;
 * kernel/mem/inject_attr.c): in effect only while they are on, as often as they say and for whom.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "orders.h"

#define FAULT "/sys/kernel/debug/pinion/fault"

enum { LENGTH = 4096, MANY = 20 };

/* Each kind that an order may have. */
static const char *const kinds[] = {
	"pin",	   "watch", "table",	"key",	       "copy-out",
	"attach",  "map",   "fault",	"fault-delay", "invalidate",
	"leaf",	   "span",  "batch",	"stretch",     "status",
	"fatal",   "late",  "loss",	"corrupt",     "duplicate",
	"reorder", "rnr",   "overflow", "hold",
};

static int attr_open(const char *kind, const char *file, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), FAULT "%s%s/%s", *kind ? "/" : "", kind,
		 file);
	context("%s", path);
	return open(path, flags | O_CLOEXEC);
}

/* Return: 0 or an errno. @kind is empty for what is of all of them. */
static int attr_try(const char *kind, const char *file, const char *value)
{
	int fd = attr_open(kind, file, O_WRONLY), err = 0;

	CHECK(fd >= 0);
	if (write(fd, value, strlen(value)) < 0)
		err = errno;
	close(fd);
	return err;
}

static void attr_set(const char *kind, const char *file, const char *value)
{
	CHECK_EQ(attr_try(kind, file, value), 0);
	context("%s", "");
}

static unsigned long long attr_get(const char *kind, const char *file)
{
	int fd = attr_open(kind, file, O_RDONLY);
	char text[64] = "";

	CHECK(fd >= 0);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	context("%s", "");
	return strtoull(text, NULL, 0);
}

static bool attr_exists(const char *kind, const char *file)
{
	int fd = attr_open(kind, file, O_RDWR);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void attrs_on(bool on)
{
	attr_set("", "on", on ? "1" : "0");
}

static void begin(void)
{
	size_t i;

	orders_begin();
	if (access(FAULT, F_OK))
		skip("this kernel injects no faults");
	/* One that failed may have left some. */
	attrs_on(false);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		attr_set(kinds[i], "probability", "0");
}

/* @kind fails each time, when they are on; @value: NULL for the default. */
static void attr_fail(const char *kind, const char *value)
{
	attr_set(kind, "verbose", "0");
	attr_set(kind, "probability", "100");
	attr_set(kind, "interval", "1");
	attr_set(kind, "times", "-1");
	attr_set(kind, "space", "0");
	attr_set(kind, "task-filter", "N");
	if (value)
		attr_set(kind, "value", value);
}

/* All are off again. */
static void attr_end(const char *kind)
{
	attrs_on(false);
	attr_set(kind, "probability", "0");
}

/* Return: 0 or the errno. */
static int register_one(int access)
{
	static char memory[LENGTH];
	struct ibv_mr *mr = ibv_reg_mr(dev.pd, memory, LENGTH, access);

	if (!mr)
		return errno;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	return 0;
}

static int make_queue(void)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 10, NULL, NULL, 0);

	if (!cq)
		return errno;
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	return 0;
}

static int pin_one(void)
{
	return register_one(ALL_ACCESS);
}

static int watch_one(void)
{
	return register_one(ODP_ALL);
}

/* The kernel's own attributes fail each step, and only while they are on. */
static void in70_on(void)
{
	static const struct {
		const char *kind;
		int (*try)(void);
	} steps[] = {
		{ "pin", pin_one },	{ "table", pin_one },
		{ "key", pin_one },	{ "copy-out", make_queue },
		{ "watch", watch_one },
	};
	static const int errs[] = { EINTR, EIO,	   ENOMEM, EFAULT,
				    EBUSY, ENODEV, ENFILE, EMFILE };
	char value[16];
	size_t i;
	int err;

	begin();
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		if (steps[i].try == watch_one &&
		    !(dev.attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
			continue;
		err = errs[rnd_below(ARRAY_SIZE(errs))];
		snprintf(value, sizeof(value), "%d", err);
		attr_fail(steps[i].kind, value);
		CHECK_EQ(steps[i].try(), 0);
		/* Nor does an order of another kind switch them on. */
		order("map number 1 count 0");
		CHECK_EQ(steps[i].try(), 0);
		orders_off();
		CHECK_EQ(attr_get("", "on"), 0);
		attrs_on(true);
		CHECK_EQ(attr_get("", "on"), 1);
		context("%s value %d", steps[i].kind, err);
		CHECK_EQ(steps[i].try(), err);
		CHECK_EQ(steps[i].try(), err);
		attr_end(steps[i].kind);
		CHECK_EQ(steps[i].try(), 0);
	}
	/* To switch twice is the same as once. */
	attr_fail("pin", "5");
	attrs_on(true);
	attrs_on(true);
	CHECK_EQ(pin_one(), 5);
	attrs_on(false);
	CHECK_EQ(pin_one(), 0);
	CHECK_EQ(attr_try("", "on", "2"), EINVAL);
	attr_end("pin");
}

/* How many of @tries registrations fail with @err; @last: the last of them. None otherwise. */
static int count_failed(int tries, int err, int *last)
{
	int i, sum = 0;

	for (i = 0; i < tries; i++) {
		int got = pin_one();

		if (!got)
			continue;
		CHECK_EQ(got, err);
		/* The interval is exact once it has begun. */
		if (sum && last)
			CHECK_EQ(i - *last, 3);
		if (last)
			*last = i;
		sum++;
	}
	return sum;
}

/* Interval, times, space and probability are those of the kernel's attributes. */
static void in71_how_often(void)
{
	int last, num;

	begin();
	attr_fail("table", "23");
	attr_set("table", "interval", "3");
	attr_set("table", "times", "4");
	attrs_on(true);
	CHECK_EQ(count_failed(60, ENFILE, &last), 4);
	CHECK_EQ(attr_get("table", "times"), 0);

	/* As much space as there is, one for each occasion. */
	attr_set("table", "interval", "1");
	attr_set("table", "times", "-1");
	attr_set("table", "space", "6");
	CHECK_EQ(count_failed(5, ENFILE, NULL), 0);
	CHECK_EQ(count_failed(5, ENFILE, NULL), 5);

	attr_set("table", "space", "0");
	attr_set("table", "probability", "50");
	num = count_failed(400, ENFILE, NULL);
	note("%d of 400", num);
	CHECK(num > 100 && num < 300);
	attr_end("table");
}

static void make_it_fail(const char *yes)
{
	int fd = open("/proc/self/make-it-fail", O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, yes, 1), 1);
	close(fd);
}

/* Children have the mark of their parent. */
static void fails_here(void *err)
{
	device_open();
	CHECK_EQ(pin_one(), *(int *)err);
}

/* With the task filter only those who are marked fail. */
static void in72_task(void)
{
	int none = 0, err = ENFILE;

	begin();
	attr_fail("key", "23");
	attr_set("key", "task-filter", "Y");
	attrs_on(true);
	CHECK_EQ(pin_one(), 0);
	reap_ok(spawn(fails_here, &none));
	make_it_fail("1");
	CHECK_EQ(pin_one(), err);
	reap_ok(spawn(fails_here, &err));
	make_it_fail("0");
	CHECK_EQ(pin_one(), 0);
	attr_end("key");
}

static void write_posted(struct link *link, const struct region *own,
			 const struct region *remote, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(own, 0, LENGTH);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote->base,
			     .rkey = remote->rkey },
	};

	post(&link->a, &wr);
}

/* Completions that they hold come, in order, before the switch has been thrown. */
static void in73_hold(void)
{
	struct region own, remote;
	struct link link;
	struct ibv_wc wc;
	int i;

	begin();
	link_make(&link, NULL);
	own = region_new(LENGTH, 50, ALL_ACCESS);
	remote = region_new(LENGTH, 7, ALL_ACCESS);
	attr_fail("hold", "2147483647");
	attrs_on(true);
	for (i = 0; i < MANY; i++)
		write_posted(&link, &own, &remote, i);
	expect_none(link.a.scq, 0.3);
	/* The end of an order is not theirs. */
	order("map number 1 count 0");
	orders_off();
	expect_none(link.a.scq, 0.3);
	attrs_on(false);
	for (i = 0; i < MANY; i++) {
		wc = await(link.a.scq);
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, i);
	}
	attr_end("hold");

	/* And one of a kind that is of requests. */
	attr_fail("status", "12");
	attrs_on(true);
	write_posted(&link, &own, &remote, 77);
	expect(await(link.a.scq), IBV_WC_RETRY_EXC_ERR);
	attr_end("status");
	link_renew(&link);
	exchange(&link, &own, &remote);
}

/* An order for the same goes first, and each leaves the other alone. */
static void in74_orders(void)
{
	begin();
	attr_fail("pin", "5");
	attrs_on(true);
	order("pin pid %d value 12", getpid());
	CHECK_EQ(pin_one(), ENOMEM);
	CHECK_EQ(pin_one(), EIO);
	orders_over(1);
	CHECK_EQ(pin_one(), EIO);
	order("pin pid %d value 12 count 0", getpid());
	attr_end("pin");
	CHECK_EQ(pin_one(), ENOMEM);
	orders_off();
	CHECK_EQ(pin_one(), 0);
}

/* Each kind has all files, and `value' takes what an order takes; root only. */
static void in75_files(void)
{
	static const char *const files[] = { "probability", "interval",
					     "times",	    "space",
					     "verbose",	    "task-filter" };
	struct dirent *entry;
	size_t i, j, num = 0;
	char value[32];
	DIR *dir;

	begin();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		unsigned long long now = attr_get(kinds[i], "value");

		for (j = 0; j < ARRAY_SIZE(files); j++)
			CHECK(attr_exists(kinds[i], files[j]));
		context("%s", kinds[i]);
		snprintf(value, sizeof(value), "%s value %llu", kinds[i], now);
		CHECK_EQ(orders_try(value), 0);
		CHECK_EQ(attr_try(kinds[i], "value", "0"), ERANGE);
		CHECK_EQ(attr_try(kinds[i], "value", "2147483648"), ERANGE);
		CHECK_EQ(attr_try(kinds[i], "value", "4294967297"), ERANGE);
		CHECK_EQ(attr_get(kinds[i], "value"), now);
		orders_off();
	}
	CHECK_EQ(attr_try("stretch", "value", "7"), ERANGE);
	CHECK_EQ(attr_try("pin", "value", "4096"), ERANGE);
	CHECK_EQ(attr_try("pin", "value", "4095"), 0);
	dir = MUST(opendir(FAULT));
	while ((entry = readdir(dir)))
		num += entry->d_type == DT_DIR && *entry->d_name != '.';
	closedir(dir);
	CHECK_EQ(num, ARRAY_SIZE(kinds));
	CHECK_EQ(setuid(65534), 0);
	CHECK_EQ(access(FAULT "/on", F_OK), -1);
}

/* Where the code of the module is. */
static void module_text(unsigned long *start, unsigned long *end)
{
	FILE *file = MUST(fopen("/proc/modules", "re"));
	char line[256], name[64];
	unsigned long size;

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %lu %*s %*s %*s 0x%lx", name, &size,
			   start) == 3 &&
		    !strcmp(name, "pinion")) {
			*end = *start + size;
			fclose(file);
			CHECK(*start);
			return;
		}
	FAIL("no pinion in /proc/modules");
}

/* The range of addresses NAME-start to NAME-end. */
static void attr_range(const char *kind, const char *name, unsigned long start,
		       unsigned long end)
{
	char file[32], value[32];

	snprintf(file, sizeof(file), "%s-start", name);
	snprintf(value, sizeof(value), "%#lx", start);
	attr_set(kind, file, value);
	snprintf(file, sizeof(file), "%s-end", name);
	snprintf(value, sizeof(value), "%#lx", end);
	attr_set(kind, file, value);
}

/* Stack filters require or reject a caller. */
static void in76_stack(void)
{
	unsigned long start, end;

	begin();
	if (!attr_exists("pin", "require-start"))
		skip("this kernel does not filter by stacks");
	module_text(&start, &end);
	attr_fail("pin", "5");
	attr_set("pin", "stacktrace-depth", "32");
	attrs_on(true);
	attr_range("pin", "require", start, end);
	CHECK_EQ(pin_one(), EIO);
	attr_range("pin", "require", 0x1000, 0x2000);
	CHECK_EQ(pin_one(), 0);
	attr_range("pin", "require", 0, -1UL);
	attr_range("pin", "reject", start, end);
	CHECK_EQ(pin_one(), 0);
	attr_range("pin", "reject", 0, 0);
	CHECK_EQ(pin_one(), EIO);
	attr_end("pin");
}

/* The kernel's log says by name what was made to fail. */
static void in77_verbose(void)
{
	char line[1024];
	int log, said = 0;
	ssize_t n;

	begin();
	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(log >= 0);
	CHECK(lseek(log, 0, SEEK_END) >= 0);
	attr_fail("table", "23");
	attr_set("table", "times", "2");
	attr_set("table", "verbose", "1");
	attrs_on(true);
	CHECK_EQ(count_failed(5, ENFILE, NULL), 2);
	attr_end("table");
	while ((n = read(log, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		if (strstr(line, "forcing a failure"))
			said += !!strstr(line, "name table, interval 1,");
	}
	CHECK_EQ(errno, EAGAIN);
	close(log);
	CHECK_EQ(said, 2);
	attr_set("table", "verbose", "0");
}

static const struct test tests[] = {
	TEST(in70_on, "IN70 attributes: on and off"),
	TEST(in71_how_often, "IN71 attributes: how often"),
	TEST(in72_task, "IN72 attributes: of whom"),
	TEST(in73_hold, "IN73 attributes: held completions"),
	TEST(in74_orders, "IN74 attributes: and orders"),
	TEST(in75_files, "IN75 attributes: of every kind"),
	TEST(in76_stack, "IN76 attributes: by the stack"),
	TEST(in77_verbose, "IN77 attributes: what the log says"),
};

int main(int argc, char **argv)
{
	int rc = harness_main(argc, argv, "Failures by the kernel's attributes",
			      tests, ARRAY_SIZE(tests));
	int fd = open(FAULT "/on", O_WRONLY | O_CLOEXEC);

	/* A test that failed may have left them on. */
	if (fd >= 0 && write(fd, "0", 1) != 1)
		rc = rc ?: 1;
	return rc;
}
