/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Files by which the kernel is asked and told: of sysfs, debugfs, procfs. Paths are format
 * strings.
 */
#ifndef PINION_TEST_FILE_H
#define PINION_TEST_FILE_H

/* Write @text to the file, by one write(). Return: 0 or an errno. */
int file_write(const char *text, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
/* The number after @word at the beginning of a line, with "" the first one; -1 if there is none. */
long long file_number(const char *word, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* PINION_TEST_FILE_H */
