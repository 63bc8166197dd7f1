/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The files of the box: those of the host or of a folder there, below a writable layer in memory,
 * and the usual file systems of a running system.
 */
#ifndef BOX_ROOT_H
#define BOX_ROOT_H

/* The prefix of paths of the host's files. */
extern const char *host_root;

/* Mount the host's files by 9p, unless they are this kernel's root already. */
void root_mount_host(void);
/* Assemble the root as @conf describes it, and change into it. */
void root_enter(char **conf);

#endif /* BOX_ROOT_H */
