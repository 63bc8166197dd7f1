/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ffs() is in a header of its own. */
#include <strings.h>
