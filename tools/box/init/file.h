/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef BOX_FILE_H
#define BOX_FILE_H

#include <stddef.h>

/*
 * What is in a file, with a 0 behind it, to be freed; NULL with errno set if it cannot
 * be opened. Its length goes to @len, if there is one.
 */
char *slurp(const char *path, size_t *len);
/* With all that lead to it. */
void make_dirs(char *path);

#endif /* BOX_FILE_H */
