/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Runs rdma(8) of iproute2.
 */
#ifndef PINION_TEST_RDMA_TOOL_H
#define PINION_TEST_RDMA_TOOL_H

/* Skips the test if the tool is missing or this process lacks the rights for it. */
void need_rdma_tool(void);
/*
 * Runs "rdma @format...", which must succeed. Returns its output, with one blank for each run of
 * blanks and ends of lines; valid until the next call.
 */
__attribute__((format(printf, 1, 2))) char *rdma_says(const char *format, ...);
/* Runs it without output. Returns its exit status. */
__attribute__((format(printf, 1, 2))) int rdma_does(const char *format, ...);
/* A counter of the device, as of now. In sysfs a network namespace sees none. */
long long rdma_counter(const char *name);

#endif /* PINION_TEST_RDMA_TOOL_H */
