/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What files the box sees: those of the host or of a folder there, with a writable
 * layer in memory over them, and what a running system adds.
 */
#ifndef BOX_ROOT_H
#define BOX_ROOT_H

/* What leads to the host's files: goes before their names. */
extern const char *host_root;

/* By 9p, where they are not this kernel's root already. */
void root_mount_host(void);
/* As @conf says; then go there. */
void root_enter(char **conf);

#endif /* BOX_ROOT_H */
