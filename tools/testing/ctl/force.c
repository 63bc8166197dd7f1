// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pinionctl trace and inject (items CT60 to CT69, CT76 to CT78). hostile/inject.c tests the effect of each
 * failure.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link.h"
#include "tool.h"

#define ORDERS "/sys/kernel/debug/pinion/inject"
#define INSTANCES "/sys/kernel/tracing/instances"

static void begin_orders(void)
{
	need_root();
	if (!dev.pinion || access(ORDERS, F_OK))
		skip("no orders of failures here");
	CHECK_EQ(tool("inject off").status, 0);
}

static void end_orders(void)
{
	CHECK_EQ(tool("inject off").status, 0);
	CHECK_EQ(tool_lines(tool_says("inject")), 1);
}

/* A program that opens the device and registers memory. */
#define REGISTERS "ibv_rc_pingpong -d %s -g %d"

/* Each example of pinionctl(1), and the line that `inject' lists for it. */
static void ct60_words(void)
{
	static const struct {
		const char *words, *json;
	} cases[] = {
		{ "pin", "\"kind\":\"pin\",\"errno\":\"ENOMEM\",\"pid\":0," },
		{ "pin errno eintr pid 77", "\"errno\":\"EINTR\",\"pid\":77," },
		{ "fault errno EAGAIN key 0x1234ab00 count 0",
		  "\"errno\":\"EAGAIN\",\"pid\":0,\"number\":305441536," },
		{ "key errno 23", "\"errno\":\"ENFILE\"" },
		{ "status status remote-access-error qp 17",
		  "\"status\":\"remote access error\",\"pid\":0,\"number\":17," },
		{ "status status 12",
		  "\"status\":\"transport retry counter exceeded\"" },
		{ "leaf size 3 count 0", "\"kind\":\"leaf\",\"size\":3," },
		{ "stretch", "\"kind\":\"stretch\",\"size\":64," },
		{ "invalidate key 0x1234ab00",
		  "\"kind\":\"invalidate\",\"pid\":0,\"number\":305441536," },
		{ "corrupt qp 17",
		  "\"kind\":\"corrupt\",\"pid\":0,\"number\":17," },
		{ "late us 1000", "\"kind\":\"late\",\"us\":1000," },
		{ "late ms 20", "\"kind\":\"late\",\"us\":20000," },
		{ "hold ms 500 qp 17",
		  "\"kind\":\"hold\",\"us\":500000,\"pid\":0,\"number\":17," },
		{ "hold", "\"kind\":\"hold\",\"pid\":0," },
		{ "loss skip 4 every 3 percent 50 seed 9 count 2",
		  "\"kind\":\"loss\",\"pid\":0,\"number\":0,\"skip\":4,\"every\":3,\"percent\":50,\"seed\":9,\"count\":2,\"met\":0,\"failed\":0}" },
	};
	const char *out;
	size_t i;

	begin_orders();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		context("%s", cases[i].words);
		tool_says("inject %s", cases[i].words);
		out = tool_says("-j inject");
		if (!strstr(out, cases[i].json))
			FAIL("no %s in %s", cases[i].json, out);
		end_orders();
	}
}

/* Wrong orders are refused with exit status 2, and leave none behind. */
static void ct61_refused(void)
{
	static const char *const cases[] = {
		"nothing",
		"pin errno",
		"pin errno ENOTHING",
		"pin errno 0",
		"pin why 3",
		"pin every 0",
		"pin key -1",
		"late us 2000000",
		"late ms 1001",
		"late ms 4294968",
		"hold us 2147483648",
		"port-down",
		"port-down nothing",
		"port-down lo -- true",
		"device-fatal",
		"leaf size 513",
		"stretch size 7",
		"status status nothing",
		"pin errno 99999999999",
		"-- true",
		"pin --",
		"off x",
		"off 1 2",
	};
	size_t i;

	begin_orders();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		context("%s", cases[i]);
		CHECK_EQ(tool("inject %s", cases[i]).status, 2);
		CHECK_EQ(tool_lines(tool_says("inject")), 1);
	}
	CHECK_EQ(tool("inject off 99").status, 1);
}

/* An order with a command lasts as long as the command; other orders stay. */
static void ct62_command(void)
{
	struct said said;
	const char *out;

	begin_orders();
	tool_says("inject table pid 1 count 0");
	said = tool("inject pin errno EIO -- " REGISTERS, device_name(),
		    dev.gid_index);
	CHECK_EQ(said.status, 1);
	if (!strstr(said.out, "Couldn't register MR") ||
	    !strstr(said.out, "pinionctl: pin value 5: failed 1 times"))
		FAIL("%s", said.out);
	out = tool_says("-j inject");
	CHECK(strstr(out, "\"kind\":\"table\""));
	CHECK(!strstr(out, "\"kind\":\"pin\""));
	region_new(100, 0, ALL_ACCESS);
	CHECK_EQ(tool("inject pin -- sh -c 'exit 7'").status, 7);
	CHECK_EQ(tool("inject pin -- /nowhere").status, 127);
	CHECK_EQ(tool("inject pin -- sh -c 'kill -9 $$'").status, 137);
	CHECK_EQ(tool_lines(tool_says("inject")), 2);
	CHECK_EQ(tool("inject off").status, 0);
}

/* One order is taken back, and the other stays. */
static void ct63_off(void)
{
	const char *out;
	int id;

	begin_orders();
	tool_says("inject pin pid 1");
	tool_says("inject table pid 1");
	out = tool_says("-j inject");
	CHECK(sscanf(strstr(out, "\"id\":"), "\"id\":%d", &id) == 1);
	tool_says("inject off %d", id);
	out = tool_says("-j inject");
	CHECK(strstr(out, "\"kind\":\"table\""));
	CHECK(!strstr(out, "\"kind\":\"pin\""));
	CHECK_EQ(tool("inject off %d", id).status, 1);
	end_orders();
}

/* An order for a process fails one call of that process, and is counted. */
static void ct64_mine(void)
{
	struct ibv_mr *mr;
	char *memory = MUST(aligned_alloc(PAGE, PAGE));

	begin_orders();
	tool_says("inject key errno ENFILE pid %d", getpid());
	MUST_NOT(ibv_reg_mr(dev.pd, memory, PAGE, 0), ENFILE);
	CHECK(strstr(tool_says("-j inject"), "\"met\":1,\"failed\":1}"));
	mr = MUST(ibv_reg_mr(dev.pd, memory, PAGE, 0));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	end_orders();
}

static void begin_trace(void)
{
	need_root();
	if (access(INSTANCES, F_OK) &&
	    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
		skip("no tracefs: errno %d", errno);
	if (!dev.pinion || access("/sys/kernel/tracing/events/pinion", F_OK))
		skip("no trace points");
}

/* Traces the command and not this process. The command registers memory, then finds no peer. */
static void ct65_trace(void)
{
	struct said said;

	begin_trace();
	/* Unmount tracefs, because trace must be able to mount it itself. */
	umount2("/sys/kernel/tracing", MNT_DETACH);
	said = tool("-j trace -- " REGISTERS
		    " -s 12345 -p 1 localhost 2>/dev/null",
		    device_name(), dev.gid_index);
	CHECK(strstr(said.out, "\"comm\":\"ibv_rc_pingpong\""));
	CHECK(strstr(said.out, "\"event\":\"mr_reg\""));
	CHECK(said.status);
	if (!strstr(said.out, "\"length\":12345,"))
		FAIL("no length in %s", said.out);
	CHECK(!strstr(said.out, program_invocation_short_name));
	said = tool("trace mr_reg -- " REGISTERS " -s 12345 -p 1 localhost",
		    device_name(), dev.gid_index);
	if (!strstr(said.out, " ibv_rc_pingpong  mr_reg "))
		FAIL("no mr_reg in %s", said.out);
	CHECK(!strstr(said.out, "mtt_write"));
	CHECK_EQ(tool("trace -- sh -c 'exit 7'").status, 7);
	CHECK_EQ(tool("trace -- sh -c 'kill -9 $$'").status, 137);
	CHECK(system("ls " INSTANCES " | grep pinionctl") != 0);
}

/* Traces all processes until SIGINT; prints all events, and removes its instance. */
static void ct66_all(void)
{
	const char *out;
	int i;

	begin_trace();
	/* Go on for some seconds: events before the tracer is ready are missing. */
	if (!fork()) {
		for (i = 0; i < 40; i++) {
			region_new(4321, 0, ALL_ACCESS);
			usleep(100000);
		}
		_exit(0);
	}
	out = tool("-j trace mr_reg & sleep 3; kill -INT $!; wait $!").out;
	CHECK(strstr(out, "\"length\":4321,"));
	CHECK_EQ(out[0], '[');
	CHECK(strstr(out, "]\n"));
	CHECK(system("ls " INSTANCES " | grep pinionctl") != 0);
	wait(NULL);
}

/* Unknown events are refused with the similar ones, and no trace instance is left. */
static void ct67_trace_refused(void)
{
	struct said said;

	begin_trace();
	said = tool("trace mr_regs");
	CHECK_EQ(said.status, 2);
	CHECK(strstr(said.out, "there is no event `mr_regs'") &&
	      strstr(said.out, " mr_reg_fail"));
	CHECK_EQ(tool("trace ../../enable").status, 2);
	CHECK(system("ls " INSTANCES " | grep pinionctl") != 0);
	CHECK_EQ(tool("trace --").status, 2);
}

static int count(const char *out, const char *event)
{
	char *name;
	int num = 0;

	CHECK(asprintf(&name, "\"event\":\"%s\"", event) > 0);
	while ((out = strstr(out, name))) {
		num++;
		out += strlen(name);
	}
	free(name);
	return num;
}

/* Each message of a program and its peer has its events: begin, end, and two completions. */
static void ct68_requests(void)
{
	const char *out;

	begin_trace();
	out = tool_says(
		"-j trace request_begin request_end completion -- sh -c '" REGISTERS
		" -n 9 -s 777 -p 18750 >/dev/null & sleep 1; " REGISTERS
		" -n 9 -s 777 -p 18750 localhost >/dev/null && wait'",
		device_name(), dev.gid_index, device_name(), dev.gid_index);
	CHECK_EQ(count(out, "request_begin"), 18);
	CHECK_EQ(count(out, "request_end"), 18);
	CHECK_EQ(count(out, "completion"), 36);
	CHECK(strstr(out, "\"length\":777,\"syndrome\":0}"));
	CHECK(strstr(out, "\"opcode\":128,\"status\":0,\"bytes\":777}"));
}

/* The event of a message that waits tells the reason and the time. */
static void ct69_wait(void)
{
	const char *out;

	begin_trace();
	begin_orders();
	tool_says("inject late us 20000");
	out = tool_says(
		"-j trace request_wait request_begin -- sh -c '" REGISTERS
		" -n 3 -p 18751 >/dev/null & sleep 1; " REGISTERS
		" -n 3 -p 18751 localhost >/dev/null && wait'",
		device_name(), dev.gid_index, device_name(), dev.gid_index);
	if (!strstr(out, "\"ns\":20000000}"))
		FAIL("%s", out);
	end_orders();
}

/* Whoever ends pinionctl ends the command, and the rest is as after the command's own end. */
static void ct76_inject_ended(const char *signal, int status)
{
	struct said said;

	begin_orders();
	said = tool(
		"inject pin count 0 -- sleep 20 >/dev/null 2>&1 & "
		"until %s inject | grep -q ' pin '; do sleep 0.1; done; kill -%s $!; wait $!",
		tool_path(), signal);
	CHECK_EQ(said.status, status);
	CHECK_EQ(tool_lines(tool_says("inject")), 1);
}

/* A command under injection that is ended by a signal leaves no order. */
static void ct76_inject(void)
{
	ct76_inject_ended("TERM", 143);
	ct76_inject_ended("HUP", 129);
}

static void ct77_trace_ended(const char *signal, int status)
{
	struct said said;

	begin_trace();
	said = tool(
		"trace -- sleep 20 >/dev/null 2>&1 & "
		"until ls " INSTANCES
		" | grep -q pinionctl; do sleep 0.1; done; kill -%s $!; wait $!",
		signal);
	CHECK_EQ(said.status, status);
	CHECK(system("ls " INSTANCES " | grep pinionctl") != 0);
}

/* A command under trace that is ended by a signal leaves no trace instance. */
static void ct77_trace(void)
{
	ct77_trace_ended("TERM", 143);
	ct77_trace_ended("HUP", 129);
}

static void register_always(void *unused)
{
	(void)unused;
	for (;;) {
		struct region r = region_new(4321, 0, ALL_ACCESS);

		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
		buf_free(r.buf);
		usleep(10000);
	}
}

/* A trace whose output cannot be written fails, and leaves no trace instance either. */
static void ct78_unwritten(void)
{
	struct said said;
	pid_t pid;

	begin_trace();
	CHECK_EQ(tool("trace -- true >/dev/full").status, 2);
	CHECK(system("ls " INSTANCES " | grep pinionctl") != 0);
	/* The reader ends after the titles and two events. */
	pid = spawn(register_always, NULL);
	said = tool("trace mr_reg 2>/dev/null | head -n 3");
	CHECK_EQ(tool_lines(said.out), 3);
	CHECK(system("ls " INSTANCES " | grep pinionctl") != 0);
	kill(pid, SIGKILL);
	reap(pid);
}

static const struct test tests[] = {
	TEST(ct60_words, "CT60 inject: words"),
	TEST(ct61_refused, "CT61 inject: what is no order"),
	TEST(ct62_command, "CT62 inject: a command"),
	TEST(ct63_off, "CT63 inject: off"),
	TEST(ct64_mine, "CT64 inject: a process"),
	TEST(ct65_trace, "CT65 trace: a command"),
	TEST(ct66_all, "CT66 trace: all"),
	TEST(ct67_trace_refused, "CT67 trace: what is no event"),
	TEST(ct68_requests, "CT68 trace: requests"),
	TEST(ct69_wait, "CT69 trace: a request that waits"),
	TEST(ct76_inject, "CT76 inject: a command is ended by a signal"),
	TEST(ct77_trace, "CT77 trace: a command is ended by a signal"),
	TEST(ct78_unwritten, "CT78 trace: output that cannot be written"),
};

HARNESS_MAIN("pinionctl: trace and inject", tests)
