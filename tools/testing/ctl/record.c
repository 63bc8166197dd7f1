// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pinionctl record and replay (items CT80 to CT95): the file has all calls of a program, a
 * replay gives the same results, and differences are reported.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forks.h"
#include "newer.h"
#include "tool.h"

#define PINGPONG "ibv_rc_pingpong -d %s -g %d -n 7 -s 12345 -p %d"
#define BOTH                                                               \
	"record %s -- sh -c '" PINGPONG " >/dev/null & sleep 1; " PINGPONG \
	" localhost >/dev/null && wait'"

static char file[] = "/tmp/recording-XXXXXX";

static void begin_file(void)
{
	strcpy(file + strlen(file) - 6, "XXXXXX");
	close(mkstemp(file));
}

static void end_file(void)
{
	unlink(file);
}

static char *contents(const char *name)
{
	FILE *in = MUST(fopen(name, "re"));
	size_t size = 0, got, room = 1 << 22;
	char *text = MUST(malloc(room));

	while ((got = fread(text + size, 1, room - 1 - size, in)))
		size += got;
	CHECK(size < room - 1);
	text[size] = 0;
	fclose(in);
	return text;
}

static int count(const char *text, const char *what)
{
	int num = 0;

	while ((text = strstr(text, what))) {
		num++;
		text += strlen(what);
	}
	return num;
}

static void record_both(int port)
{
	tool_says(BOTH, file, device_name(), dev.gid_index, port, device_name(),
		  dev.gid_index, port);
}

/* Replays, and checks the numbers in `calls came out the same, ...'. @same 0: any number. */
static void check_replay(unsigned long same, unsigned long differ,
			 unsigned long left)
{
	const char *out = tool("replay %s %s", file, device_name()).out;
	unsigned long is_same, is_different, is_left;
	const char *at = strstr(out, file);

	if (!at ||
	    sscanf(at + strlen(file),
		   ": %lu calls came out the same, %lu differently, %lu were left out",
		   &is_same, &is_different, &is_left) != 3)
		FAIL("%s", out);
	if ((same && is_same != same) || is_different != differ ||
	    is_left != left)
		FAIL("%lu same, %lu different, %lu left: %s", is_same,
		     is_different, is_left, out);
}

/* Records both processes: each region and each message, but no data; then replays. */
static void ct80_both(void)
{
	char *text;

	begin_file();
	record_both(18710);
	text = contents(file);
	CHECK_EQ(count(text, " reg_mr kind=memory "), 2);
	CHECK_EQ(count(text, " length=12345 "), 2);
	CHECK_EQ(count(text, " dereg_mr "), 2);
	/* 7 pings and 7 pongs, with completions of sends and receives. */
	CHECK_EQ(count(text, " post_send "), 14);
	CHECK_EQ(count(text, " opcode=128 bytes=12345 "), 14);
	CHECK_EQ(count(text, " completion "), 28);
	/* Data is not recorded: ibv_rc_pingpong fills its buffer with `{'. */
	CHECK(!strstr(text, "{{{{"));
	check_replay(0, 0, 0);
	free(text);
	end_file();
}

/* Keeps the lines of one of the two processes: the replay has to simulate the peer. */
static void keep_one(bool first)
{
	char *text = contents(file), *line, *rest = text;
	FILE *out = MUST(fopen(file, "we"));
	long pid, chosen = 0, lines = 0;

	while ((line = strsep(&rest, "\n")) && *line) {
		if (!lines++) {
			fprintf(out, "%s\n", line);
			continue;
		}
		CHECK(sscanf(line, "%*s %ld", &pid) == 1);
		if (!chosen)
			chosen = pid;
		if ((pid == chosen) == first)
			fprintf(out, "%s\n", line);
	}
	fclose(out);
	free(text);
}

/* One end of a recorded connection can be replayed alone. */
static void ct81_one_side(void)
{
	int first;

	for (first = 0; first < 2; first++) {
		context("%s", first ? "the first" : "the second");
		begin_file();
		record_both(18711 + first);
		keep_one(first);
		check_replay(0, 0, 0);
		end_file();
	}
}

/* Replaces the first occurrence of @from in the file. */
static void change(const char *from, const char *to)
{
	char *text = contents(file), *at = MUST(strstr(text, from));
	FILE *out = MUST(fopen(file, "we"));

	fprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	fclose(out);
	free(text);
}

/* The recording has another status than the replay gets: the difference is reported. */
static void ct82_differs(void)
{
	struct said said;

	begin_file();
	record_both(18713);
	change(" status=0 opcode=128", " status=10 opcode=128");
	said = tool("replay %s %s", file, device_name());
	CHECK_EQ(said.status, 1);
	if (!strstr(said.out, "completion") ||
	    !strstr(said.out, "remote access error") ||
	    !strstr(said.out, ", 1 differently"))
		FAIL("%s", said.out);
	said = tool("-j replay %s %s 2>/dev/null", file, device_name());
	CHECK(strstr(said.out, "\"here\":\"success\""));
	end_file();
}

/* A failed call is recorded as failed; a replay without the injected failure differs. */
static void ct83_refused(void)
{
	struct said said;
	char *text;

	need_root();
	if (!dev.pinion)
		skip("other devices take no orders");
	begin_file();
	if (tool("inject").status)
		skip("no debugfs");
	said = tool("record %s -- %s inject pin errno EIO -- " PINGPONG, file,
		    tool_path(), device_name(), dev.gid_index, 18714);
	CHECK_EQ(said.status, 1);
	text = contents(file);
	CHECK_EQ(count(text, " errno=5\n"), 1);
	free(text);
	said = tool("replay %s %s", file, device_name());
	CHECK_EQ(said.status, 1);
	if (!strstr(said.out, "reg_mr         EIO  "))
		FAIL("%s", said.out);
	end_file();
}

/* record passes on output and exit status of the command. */
static void ct84_command(void)
{
	begin_file();
	CHECK_EQ(tool("record %s -- sh -c 'exit 7'", file).status, 7);
	CHECK(strstr(tool("record %s -- true", file).out,
		     "nothing was recorded"));
	CHECK_EQ(tool("record %s -- /nowhere", file).status, 127);
	CHECK_EQ(tool("record %s -- sh -c 'kill -9 $$'", file).status, 137);
	CHECK_EQ(tool("record %s", file).status, 2);
	CHECK_EQ(tool("record -- true").status, 2);
	CHECK_EQ(tool("record /nowhere/x -- true").status, 2);
	end_file();
}

/* What is no recording, or does not exist, is refused with the line. */
static void ct85_no_recording(void)
{
	FILE *out;

	begin_file();
	CHECK_EQ(tool("replay %s", file).status, 2);
	out = MUST(fopen(file, "we"));
	fprintf(out, "# pinion recording 1\nfoo\n");
	fclose(out);
	CHECK(strstr(tool("replay %s", file).out, "line 2"));
	CHECK_EQ(tool("replay %s", file).status, 2);
	CHECK_EQ(tool("replay /nowhere").status, 2);
	CHECK_EQ(tool("replay").status, 2);
	record_both(18715);
	CHECK_EQ(tool("replay %s nowhere", file).status, 2);
	end_file();
}

/* Damaged files may give other results, but never end the tool by a signal. */
static void ct86_damaged(void)
{
	char *text, *at;
	FILE *out;
	size_t length, i;
	int try, status;

	begin_file();
	record_both(18716);
	keep_one(true);
	text = contents(file);
	length = strlen(text);
	for (try = 0; try < 10; try++) {
		context("try %d", try);
		out = MUST(fopen(file, "we"));
		for (i = 0; i < length; i++) {
			/* Change one digit in a hundred, but not in the first line. */
			at = &text[i];
			if (i > 30 && *at >= '0' && *at <= '9' &&
			    rnd() % 100 == 0)
				fputc('0' + rnd() % 10, out);
			else
				fputc(*at, out);
		}
		fclose(out);
		status = tool("replay %s %s", file, device_name()).status;
		if (status > 2)
			FAIL("status %d", status);
	}
	free(text);
	end_file();
}

static void poll_none(void *cq)
{
	struct ibv_wc wc;

	CHECK_EQ(ibv_poll_cq(cq, 1, &wc), 0);
}

static void open_device(void *unused)
{
	(void)unused;
	device_another();
}

#define FORKS "CT87 "

/* A process forks while its other threads poll, and its children open the device. */
static void ct87_forks(void)
{
	struct ibv_cq *cq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));

	fork_beside(poll_none, open_device, cq);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

/* Records another test of this program, which must pass. */
static char *record_test(const char *name)
{
	char self[4096] = "";

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	begin_file();
	tool_says("record %s -- %s --device %s --only '%s'", file, self,
		  device_name(), name);
	return contents(file);
}

/* It can do so while it is recorded. */
static void ct88_forks_recorded(void)
{
	char *text = record_test(FORKS);

	CHECK(count(text, " open_device ") > 50);
	free(text);
	end_file();
}

#define TOO_EARLY "CT89 "

/*
 * A queue pair that is not ready refuses what is posted. rxe asks the kernel, and does then not say
 * which request was refused.
 */
static void ct89_too_early(void)
{
	struct ibv_send_wr send = { .wr_id = 0x4711, .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_send;
	struct end end;

	end_make(&end, NULL);
	end_init(&end);
	CHECK(ibv_post_send(end.qp, &send, &bad_send));
	end_free(&end);
}

/* This is recorded, too, and the program goes on. */
static void ct90_too_early_recorded(void)
{
	char *text = record_test(TOO_EARLY);

	CHECK_EQ(count(text, " post_send "), 1);
	CHECK_EQ(count(text, " refused "), 1);
	CHECK_EQ(count(text, " wr_id=0x4711 errno="), 1);
	free(text);
	end_file();
}

/* A region is moved to a domain whose making is not in the file: this is left out. */
static void ct93_no_domain(void)
{
	FILE *out;

	begin_file();
	out = MUST(fopen(file, "we"));
	fprintf(out, "# pinion recording 1\n"
		     "1.0 9 alloc_pd context=0x1 pd=0x10\n"
		     "1.1 9 reg_mr kind=memory pd=0x10 addr=0x100000 "
		     "length=4096 iova=0x100000 access=0x1 mr=0x20 lkey=0x30 "
		     "rkey=0x40\n"
		     "1.2 9 rereg_mr mr=0x20 flags=0x2 pd=0x11 addr=(nil) "
		     "length=0 access=0x0 lkey=0x31 rkey=0x41 result=0\n"
		     "1.3 9 dereg_mr mr=0x20\n"
		     "1.4 9 dealloc_pd pd=0x10\n");
	fclose(out);
	check_replay(4, 0, 1);
	end_file();
}

#define FLUSHES "CT91 "

#ifdef HAVE_WR_FLUSH
static struct link link_;
static struct region r;

static void post_write(uint64_t wr_id, int flags)
{
	link_.a.ex->wr_id = wr_id;
	link_.a.ex->wr_flags = flags;
	ibv_wr_rdma_write(link_.a.ex, r.rkey, r.base);
	ibv_wr_set_sge(link_.a.ex, r.lkey, r.base + 4096, 64);
}

static void post_flush(uint64_t wr_id, uint64_t addr)
{
	link_.a.ex->wr_id = wr_id;
	link_.a.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(link_.a.ex, r.rkey, addr, 64, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE);
}

/*
 * Requests that have no place in struct ibv_send_wr, between others, of the same ids as these. The
 * last one is refused.
 */
static void ct91_flushes(void)
{
	struct qp_cfg cfg = { .access = ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL };
	const uint64_t value = 1;

	link_make(&link_, &cfg);
	if (!link_.a.ex || !link_.a.ex->wr_flush ||
	    !link_.a.ex->wr_atomic_write)
		skip("no such requests on this device");
	r = region_new(8192, 0, ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	ibv_wr_start(link_.a.ex);
	post_write(0, 0);
	post_flush(0, r.base);
	post_write(0, IBV_SEND_SIGNALED);
	link_.a.ex->wr_id = 7;
	ibv_wr_atomic_write(link_.a.ex, r.rkey, r.base, &value);
	post_flush(0, r.base + 8192);
	CHECK_EQ(ibv_wr_complete(link_.a.ex), 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect(await(link_.a.scq), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	link_free(&link_);
}

/*
 * They are recorded. A replay leaves them out, and the completions of just these, of which it waits
 * for none.
 */
static void ct92_flushes_recorded(void)
{
	char *text = record_test(FLUSHES);

	if (strstr(text, " qp=") && !strstr(text, " completion "))
		skip("no such requests on this device");
	CHECK_EQ(count(text, " post_send "), 5);
	CHECK_EQ(count(text, " wr_id=0x0 opcode=14 "), 2);
	CHECK_EQ(count(text, " wr_id=0x7 opcode=15 "), 1);
	CHECK_EQ(count(text, " completion "), 4);
	check_replay(0, 0, 6);
	free(text);
	end_file();
}
#else
#define ct91_flushes no_wr_flush
#define ct92_flushes_recorded no_wr_flush
#endif

#define IMPORTS "CT94 "

/* A context that is imported is used like one that was opened. */
static void ct94_imports(void)
{
	struct qp_cfg cfg = { .ctx = ibv_import_device(dup(dev.ctx->cmd_fd)) };
	char *memory = MUST(aligned_alloc(PAGE, PAGE));
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct link link;

	if (!cfg.ctx)
		skip("this device's contexts cannot be imported");
	cfg.pd = MUST(ibv_alloc_pd(cfg.ctx));
	mr = MUST(ibv_reg_mr(cfg.pd, memory, PAGE, ALL_ACCESS));
	link_make(&link, &cfg);
	sge = (struct ibv_sge){ (uintptr_t)memory, 64, mr->lkey };
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge, sge.addr + 64, mr->rkey),
	       IBV_WC_SUCCESS);
	link_free(&link);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(cfg.pd), 0);
	CHECK_EQ(ibv_close_device(cfg.ctx), 0);
}

/* What is posted there, and what completes, is recorded, too. */
static void ct95_imports_recorded(void)
{
	char *text = record_test(IMPORTS);

	CHECK_EQ(count(text, " import_device "), 1);
	CHECK_EQ(count(text, " post_send "), 1);
	CHECK_EQ(count(text, " completion "), 1);
	check_replay(0, 0, 0);
	free(text);
	end_file();
}

static const struct test tests[] = {
	TEST(ct80_both, "CT80 record: both ends"),
	TEST(ct81_one_side, "CT81 replay: an end alone"),
	TEST(ct82_differs, "CT82 replay: what differs"),
	TEST(ct83_refused, "CT83 record: a refusal"),
	TEST(ct84_command, "CT84 record: the command"),
	TEST(ct85_no_recording, "CT85 replay: what is no recording"),
	LONG_TEST(ct86_damaged, "CT86 replay: a damaged recording", 180),
	TEST(ct87_forks, FORKS "a program that forks"),
	TEST(ct88_forks_recorded, "CT88 record: a program that forks"),
	TEST(ct89_too_early, TOO_EARLY "a program that posts too early"),
	TEST(ct90_too_early_recorded,
	     "CT90 record: a program that posts too early"),
	TEST(ct91_flushes, FLUSHES "a program that flushes"),
	TEST(ct92_flushes_recorded, "CT92 record: a program that flushes"),
	TEST(ct93_no_domain, "CT93 replay: a domain that is not there"),
	TEST(ct94_imports, IMPORTS "a program that imports a context"),
	TEST(ct95_imports_recorded,
	     "CT95 record: a program that imports a context"),
};

HARNESS_MAIN("pinionctl: record and replay", tests)
