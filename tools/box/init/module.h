/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kernel modules, without kmod.
 */
#ifndef BOX_MODULE_H
#define BOX_MODULE_H

/* 0 or an errno, which says why on stderr; to be loaded already is no failure. */
int insmod(const char *file, const char *params);
/* 0 or an errno, which says why on stderr. */
int rmmod(const char *name);
/* Those an initrd brings to reach the host, if this is one. */
void load_modules(void);

#endif /* BOX_MODULE_H */
