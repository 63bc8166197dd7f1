/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PINION_FUZZ_NOSPEC_H
#define PINION_FUZZ_NOSPEC_H

#define array_index_nospec(index, size) (index)

#endif
