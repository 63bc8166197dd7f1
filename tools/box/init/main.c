// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * box-init: the first process of a box. It lays a writable layer in memory over the caller's file
 * system, runs the set-up script, runs the command with its streams carried to the host as frames,
 * runs the clean-up script, and powers off. It is static, so that it runs on any root. The job
 * folder (box_job= on the kernel's command line) tells what to do.
 *
 * `box-init insmod FILE [PARAMETERS]` loads a module and `box-init rmmod NAME` unloads one, for
 * roots without kmod.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "channel.h"
#include "command.h"
#include "file.h"
#include "job.h"
#include "module.h"
#include "peers.h"
#include "process.h"
#include "root.h"

/* The exit status of setup.sh if it has printed the reason of the failure. */
#define SETUP_SAID_WHY 3

/* Connects to the host and reads the job. */
static void wake_up(struct job *job)
{
	char *cmdline, *p, channel[64], folder[4096];

	umask(022);
	mkdir("/proc", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	cmdline = slurp("/proc/cmdline", NULL);
	if (!cmdline)
		cmdline = "";
	load_modules();
	p = strstr(cmdline, "box_channel=");
	if (p && sscanf(p, "box_channel=%63s", channel) == 1)
		channel_open(channel);
	if (strstr(cmdline, "box_host=9p"))
		root_mount_host();
	p = strstr(cmdline, "box_job=");
	if (!p || sscanf(p, "box_job=%4095s", folder) != 1)
		die("no box_job= on the kernel's command line");
	job_read(job, folder);
}

int main(int argc, char **argv)
{
	struct job job;
	int status, cleaned;

	if (argc > 2 && !strcmp(argv[1], "insmod"))
		return insmod(argv[2], argc > 3 ? argv[3] : "") ? 1 : 0;
	if (argc == 3 && !strcmp(argv[1], "rmmod"))
		return rmmod(argv[2]) ? 1 : 0;
	if (getpid() != 1) {
		fprintf(stderr,
			"box-init: runs only as the first process of a box\n");
		return 2;
	}

	wake_up(&job);
	root_enter(job.conf);

	say("setting up the devices");
	status = script("setup.sh", job.setup_env);
	if (status == SETUP_SAID_WHY) {
		say("setting up the devices failed, and that was said");
		send_value(FRAME_DONE, 1);
		channel_drain();
		power_off();
	}
	if (status)
		die("setting up the devices failed (exit %d)", status);
	say("up after %s", strtok(slurp("/proc/uptime", NULL), " "));

	peers_await_go(&job);
	status = command_run(&job);
	if (status >= 0) {
		say("the command ended with %d", status);
		send_value(FRAME_EXIT, status);
		peers_await_end(&job);
	}
	kill_rest();
	cleaned = status < 0 ? 0 : script("teardown.sh", job.setup_env);
	if (cleaned)
		say("cleaning up failed");
	sync();
	send_value(FRAME_DONE, cleaned);
	channel_drain();
	power_off();
}
