/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Loads and unloads kernel modules without kmod.
 */
#ifndef BOX_MODULE_H
#define BOX_MODULE_H

/* Return: 0, also if the module is loaded already, or an errno after a message on stderr. */
int insmod(const char *file, const char *params);
/* Return: 0, or an errno after a message on stderr. */
int rmmod(const char *name);
/* If this is an initrd, load its modules, which are needed to mount the host's files. */
void load_modules(void);

#endif /* BOX_MODULE_H */
