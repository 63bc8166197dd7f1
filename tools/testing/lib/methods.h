/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Methods of uverbs and their attributes, for fuzzers: those of pinion itself, of mlx5 as far as
 * pinion has them, and those of the core that call the driver.
 */
#ifndef PINION_TEST_METHODS_H
#define PINION_TEST_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of attributes. */
enum attr_kind {
	ATTR_END,
	ATTR_NEW, /* the handle of what is made */
	ATTR_HANDLE,
	ATTR_ADDRESS,
	ATTR_NUMBER,
	ATTR_FLAGS,
	ATTR_KIND, /* a small number, of which some are valid */
	ATTR_COMMAND, /* of DEVX */
	ATTR_PLACE, /* the driver's part: where a ring is to be */
	ATTR_ANSWER,
	ATTR_FILE,
	ATTR_ZERO,
};

/* What the first word of an answer is, for later calls. */
enum attr_value {
	VALUE_NONE,
	VALUE_LKEY,
	VALUE_RKEY,
	VALUE_QPN,
	VALUE_UMEM,
	VALUE_PDN,
	VALUE_UAR,
	VALUE_EQN,
	VALUE_FILE,
	VALUE_AH,
	VALUE_DEVX, /* the first of several: a number for each kind of object */
	VALUES = VALUE_DEVX + 8,
};

struct attribute {
	uint16_t id;
	uint8_t kind;
	uint16_t length; /* ATTR_NEW and ATTR_HANDLE: the object */
	uint64_t usual; /* a valid number; ATTR_ANSWER: enum attr_value */
};

enum { METHOD_ATTRIBUTES = 16 };

struct method {
	const char *name;
	uint16_t object, method;
	bool ends; /* destroys the object of the first attribute */
	struct attribute attribute[METHOD_ATTRIBUTES];
};

extern const struct method methods[];
extern const size_t methods_count;

#endif /* PINION_TEST_METHODS_H */
