// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Failures by the kernel's attributes of fault injection; see inject_attr.h.
 */
#include "inject_attr.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

static struct pinion_inject_attr inject_attrs[PINION_INJECT_NUM_KINDS];

/* Are they in effect? Read without a lock wherever something can fail. */
static bool inject_attrs_on;

struct pinion_inject_attr *pinion_inject_attr_of(enum pinion_inject_kind kind)
{
	return &inject_attrs[kind];
}

/* Each occasion is 1 of the attribute `space'. */
int pinion_inject_attr_ask(enum pinion_inject_kind kind)
{
	if (!READ_ONCE(inject_attrs_on) || !should_fail(&inject_attrs[kind].fault, 1))
		return 0;
	return READ_ONCE(inject_attrs[kind].value);
}

bool pinion_inject_attr_lasts(enum pinion_inject_kind kind)
{
	return READ_ONCE(inject_attrs_on) && READ_ONCE(inject_attrs[kind].fault.probability);
}

bool pinion_inject_attr_is_on(void)
{
	return READ_ONCE(inject_attrs_on);
}

bool pinion_inject_attr_switch(bool on)
{
	if (inject_attrs_on == on)
		return false;
	WRITE_ONCE(inject_attrs_on, on);
	return true;
}

#endif
