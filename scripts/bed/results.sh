# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What check does with results: keeps those of earlier runs, and lists failed tests.
# shellcheck shell=bash

# Earlier runs that are kept, and bytes of a file of theirs.
RESULTS_RUNS=5
RESULTS_BYTES=1000000

# results_keep DIR: the results of the last run in DIR, if there are any, become DIR.1, those of the
# run before DIR.2, and so on. Only its tables and logs, of long ones the end.
results_keep() {
	local i file
	compgen -G "$1/*.result" >/dev/null || return 0
	rm -rf "$1.$RESULTS_RUNS"
	for ((i = RESULTS_RUNS - 1; i; i--)); do
		[ ! -e "$1.$i" ] || mv "$1.$i" "$1.$((i + 1))"
	done
	mkdir "$1.1"
	for file in "$1"/*; do
		[ -f "$file" ] && [ -s "$file" ] || continue
		tail -c $RESULTS_BYTES "$file" >"$1.1/${file##*/}"
		touch -r "$file" "$1.1/${file##*/}"
	done
}

# results_failed LOG NAME COMMAND: prints each failed test, and behind it how to run it again: by the
# command that the test has printed before its line, or by COMMAND.
results_failed() {
	LC_ALL=C awk -v name="$2" -v suite="$3" '
	/^ *# again: / { own = $0; sub(/^ */, "", own) }
	/^ *not ok / {
		sub(/^ */, "")
		print "failed: " name ": " $0
		print own != "" ? own : "# again: " suite
	}
	/^ *(not )?ok [0-9]/ { own = "" }' "$1"
}
