// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Takes words, and remembers what was made.
 */
#include "words.h"

struct calls_self calls_self;
uint8_t *calls_arena, *calls_read_only;

static const struct call *current;
static unsigned int word_at;

void word_begin(const struct call *call)
{
	current = call;
	word_at = 0;
}

uint32_t word_take(void)
{
	uint32_t at = word_at++;

	return at < current->words ? current->word[at] : 0;
}

struct choice word_choose(void)
{
	uint32_t word = word_take();

	return (struct choice){ word & 7, word >> 3 };
}

bool word_number(uint64_t usual, uint64_t *n)
{
	struct choice c = word_choose();

	switch (c.how) {
	case 1:
		*n = c.of;
		break;
	case 2:
		*n = usual + c.of;
		break;
	case 3:
		*n = usual - c.of;
		break;
	case 4:
		*n = 1ULL << c.of % 64;
		break;
	case 5:
		*n = ~0ULL << c.of % 64;
		break;
	case 6:
		*n = usual ^ 1ULL << c.of % 64;
		break;
	default:
		*n = usual;
	}
	return c.how != 7;
}

uint64_t word_some(uint64_t usual)
{
	uint64_t n;

	return word_number(usual, &n) ? n : 0;
}

bool word_address(uint64_t *n)
{
	struct choice c = word_choose();

	switch (c.how) {
	case 1:
		*n = (uintptr_t)calls_arena + c.of % CALLS_ARENA;
		break;
	case 2:
		*n = (uintptr_t)calls_arena + CALLS_ARENA - c.of % 9000;
		break;
	case 3:
		*n = c.of % 9000;
		break;
	case 4:
		*n = -(uint64_t)(c.of % 9000);
		break;
	case 5:
		*n = (uintptr_t)calls_read_only + c.of % PAGE;
		break;
	case 6:
		*n = (uintptr_t)calls_arena + c.of % 8 * PAGE;
		break;
	default:
		*n = (uintptr_t)calls_arena;
	}
	return c.how != 7;
}

uint64_t word_some_address(void)
{
	uint64_t n;

	return word_address(&n) ? n : 0;
}

/* One of the handles of @object, the last one first. */
static uint32_t made_last(uint16_t object, bool any, uint32_t back)
{
	uint32_t count = 0, i;

	for (i = 0; i < calls_self.made; i++)
		count += any || calls_self.object[i].object == object;
	if (!count)
		return back;
	back %= count;
	for (i = calls_self.made; i--;) {
		if ((any || calls_self.object[i].object == object) && !back--)
			return calls_self.object[i].handle;
	}
	return 0;
}

bool word_handle(uint16_t object, uint64_t *n)
{
	struct choice c = word_choose();

	if (c.how == 5)
		*n = c.of;
	else
		*n = made_last(object, c.how == 4, c.of);
	return c.how != 7;
}

uint32_t word_some_handle(uint16_t object)
{
	uint64_t n;

	return word_handle(object, &n) ? n : UINT32_MAX;
}

uint32_t word_value(unsigned int usual)
{
	struct choice c = word_choose();

	switch (c.how) {
	case 1:
		return calls_self.value[usual] ^ 1U << c.of % 32;
	case 2:
		return c.of;
	case 3:
		return calls_self.value[c.of % VALUES];
	default:
		return calls_self.value[usual];
	}
}

void made_add(uint16_t object, uint32_t which)
{
	if (calls_self.made == CALLS_MADE)
		return;
	calls_self.object[calls_self.made].object = object;
	calls_self.object[calls_self.made++].handle = which;
}

void made_drop(uint16_t object, uint32_t which)
{
	unsigned int i;

	for (i = 0; i < calls_self.made; i++) {
		if (calls_self.object[i].object == object &&
		    calls_self.object[i].handle == which)
			calls_self.object[i] =
				calls_self.object[--calls_self.made];
	}
}
