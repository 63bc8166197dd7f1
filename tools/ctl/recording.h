/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by `record', its library (tools/record) and `replay'.
 */
#ifndef PINIONCTL_RECORDING_H
#define PINIONCTL_RECORDING_H

#define RECORDING_FIRST "# pinion recording 1\n"
/* The environment variable with the name of the file. */
#define RECORDING_NAME "PINION_RECORD"
#define RECORDING_LIBRARY "libpinion-record.so"

#endif
