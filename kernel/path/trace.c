// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gives the tracepoints of requests their code.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
