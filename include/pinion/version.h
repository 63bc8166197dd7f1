/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The only place that knows the version. Scripts read this line with sed. */
#ifndef PINION_VERSION_H
#define PINION_VERSION_H

#define PINION_VERSION "1.1.0"

#endif
