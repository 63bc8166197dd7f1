// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * filter no-userns|container COMMAND...: runs COMMAND without some system calls.
 *
 * no-userns: no user namespaces, as on machines whose administrator has turned them off.
 * container: refuses what the default profile of container engines refuses to processes without
 * the greater capabilities. The profile lists what is allowed; this lists what is refused.
 *
 * Needs CAP_SYS_ADMIN, so that sudo still works below it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACES                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define ARG(n) offsetof(struct seccomp_data, args[n])
#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what)
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NR offsetof(struct seccomp_data, nr)

static const int refused[] = {
	SYS_acct,
	SYS_add_key,
	SYS_bpf,
	SYS_clock_adjtime,
	SYS_clock_settime,
	SYS_delete_module,
	SYS_fanotify_init,
	SYS_finit_module,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fsopen,
	SYS_fspick,
	SYS_get_mempolicy,
	SYS_init_module,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_io_uring_setup,
	SYS_ioperm,
	SYS_iopl,
	SYS_kcmp,
	SYS_kexec_file_load,
	SYS_kexec_load,
	SYS_keyctl,
	SYS_lookup_dcookie,
	SYS_mbind,
	SYS_mount,
	SYS_mount_setattr,
	SYS_move_mount,
	SYS_move_pages,
	SYS_open_by_handle_at,
	SYS_open_tree,
	SYS_perf_event_open,
	SYS_pidfd_getfd,
	SYS_pivot_root,
	SYS_process_madvise,
	SYS_quotactl,
	SYS_reboot,
	SYS_request_key,
	SYS_set_mempolicy,
	SYS_setdomainname,
	SYS_sethostname,
	SYS_setns,
	SYS_settimeofday,
	SYS_swapoff,
	SYS_swapon,
	SYS_syslog,
	SYS_umount2,
	SYS_unshare,
	SYS_userfaultfd,
	SYS_vhangup,
};

static struct sock_filter program[256];
static unsigned short length;

static void add(struct sock_filter instruction)
{
	program[length++] = instruction;
}

/* For system call @nr: @n instructions from @body; others skip them. */
static void on(int nr, const struct sock_filter *body, int n)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, n));
	while (n--)
		add(*body++);
}

#define ON(nr, ...)                                              \
	on(nr, (const struct sock_filter[]){ __VA_ARGS__ },      \
	   sizeof((const struct sock_filter[]){ __VA_ARGS__ }) / \
		   sizeof(struct sock_filter))

/* clone3() gets ENOSYS, because a filter cannot read its flags; the C library then uses clone(). */
static void no_namespaces(unsigned int flags)
{
	ON(SYS_clone3, REFUSE(ENOSYS));
	ON(SYS_clone, LOAD(ARG(0)),
	   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1), REFUSE(EPERM),
	   ALLOW);
	ON(SYS_unshare, LOAD(ARG(0)),
	   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1), REFUSE(EPERM),
	   ALLOW);
}

static void container(void)
{
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		ON(refused[i], REFUSE(EPERM));
	no_namespaces(NAMESPACES);
	/*
	 * As in the default profile: PER_LINUX, PER_LINUX32, UNAME26, both, or a query. So
	 * ADDR_NO_RANDOMIZE is refused.
	 */
	ON(SYS_personality, LOAD(ARG(0)),
	   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 2, 0),
	   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, ~0x20008u, 0, 1), REFUSE(EPERM),
	   ALLOW);
	ON(SYS_socket, LOAD(ARG(0)),
	   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_VSOCK, 1, 0),
	   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_ALG, 0, 1), REFUSE(EPERM),
	   ALLOW);
}

int main(int argc, char **argv)
{
	struct sock_fprog prog = { .filter = program };

	if (argc < 3 ||
	    (strcmp(argv[1], "no-userns") && strcmp(argv[1], "container"))) {
		fprintf(stderr,
			"Usage: filter no-userns|container COMMAND [ARGUMENTS]\n");
		return 2;
	}
	add((struct sock_filter)LOAD(offsetof(struct seccomp_data, arch)));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					 AUDIT_ARCH_X86_64, 1, 0));
	add((struct sock_filter)REFUSE(ENOSYS));
	add((struct sock_filter)LOAD(NR));
	if (!strcmp(argv[1], "container"))
		container();
	else
		no_namespaces(CLONE_NEWUSER);
	add((struct sock_filter)ALLOW);
	prog.len = length;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("filter: seccomp");
		return 1;
	}
	/* The caller may have opened descriptors for us only. */
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
