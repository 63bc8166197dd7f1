/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The tool of iproute2, rdma(8), as administrators use it.
 */
#ifndef PINION_TEST_RDMA_TOOL_H
#define PINION_TEST_RDMA_TOOL_H

/* Skips the test where it is missing, or we may not see what it does. */
void need_rdma_tool(void);
/*
 * What "rdma @format..." prints, blanks and ends of lines all as one blank; it must succeed.
 * Until the next call.
 */
__attribute__((format(printf, 1, 2))) char *rdma_says(const char *format, ...);
/* Its exit status; it prints nothing. */
__attribute__((format(printf, 1, 2))) int rdma_does(const char *format, ...);

#endif /* PINION_TEST_RDMA_TOOL_H */
