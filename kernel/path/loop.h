/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine for peers on this host.
 */
#ifndef PINION_PATH_LOOP_H
#define PINION_PATH_LOOP_H

#include "engine.h"

extern const struct pinion_engine pinion_loop_engine;

#endif
