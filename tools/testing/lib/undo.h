/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Settings of the whole machine, which must not outlive a test.
 */
#ifndef PINION_TEST_UNDO_H
#define PINION_TEST_UNDO_H

/*
 * Call @undo once this process and all its children have ended, however they do: also if the test
 * fails, or is killed because it does not end. The next test begins after that.
 */
void undo_at_end(void (*undo)(void));

#endif /* PINION_TEST_UNDO_H */
