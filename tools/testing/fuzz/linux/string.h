/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PINION_FUZZ_STRING_H
#define PINION_FUZZ_STRING_H

#include <string.h>

#endif
