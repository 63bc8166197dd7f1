/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef BOX_FILE_H
#define BOX_FILE_H

#include <stddef.h>

/*
 * Return: the contents of a file, followed by a 0 byte; the caller frees them. NULL with errno set
 * if the file cannot be opened. The length goes to @len, unless that is NULL.
 */
char *slurp(const char *path, size_t *len);
/* Make a directory and its parents. */
void make_dirs(char *path);

#endif /* BOX_FILE_H */
