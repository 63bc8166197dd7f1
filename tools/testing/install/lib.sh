# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Functions of the tests of installed files.
# shellcheck source=tools/testing/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# The environment of the user who runs the tests must not matter.
unset DESTDIR PREFIX LIBDIR INCLUDEDIR SYSCONFDIR

# what NAME COMMAND...: passes if COMMAND, which may be a function, succeeds; shows its output if
# not.
what() {
	local name=$1
	shift
	if "$@" >"$TMP/out" 2>&1; then
		ok "$name"
	else
		echo "# $*"
		tail -n 25 "$TMP/out" | show
		not_ok "$name"
		return 1
	fi
}

# refuses WORDS COMMAND...: COMMAND fails and prints WORDS.
refuses() {
	local words=$1
	shift
	! "$@" >"$TMP/why" 2>&1 || { echo "not refused"; return 1; }
	cat "$TMP/why"
	grep -q -- "$words" "$TMP/why"
}
