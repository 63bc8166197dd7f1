// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * In each library, for who finds one and wants to know of which pinion it is:
 * strings LIBRARY | grep '^pinion '
 */
#include <pinion/version.h>

extern const char pinion_version[];
__attribute__((used, visibility("hidden")))
const char pinion_version[] = "pinion " PINION_VERSION;
