# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What check runs: each suite's file says on which beds, and when.
#   # check: BED [HOW], ...         without options
#   # check --more: BED [HOW], ...  with --more
#   # check --tooling: BED [HOW], ...  with --tooling
#   # check --all: BED [HOW], ...   with --all only
# HOW: nothing, or `quick', a selection of the suite; `brief', a smaller one; `stock', those tests
# that need a kernel of Debian, and `older', those of them that need a second one; `faults', those
# that break things, where a sanitizer looks (with --more); `races', those with many threads.
# --all runs a suite once on each bed of all these lines, in the fullest way. On the bed `own', a kernel
# of somebody's own (--kernel), all suites of the bed plain can be run.
# A suite that cannot stop between two tests when there is no more time says so in another line:
#   # check: to its end
# Which test programs a suite runs, it says for scripts/mutants --check, in a line
#   # runs: PROGRAM [OPTIONS], ...
# or when it is called with LIST=1:
#   # runs: what LIST=1 prints
# shellcheck shell=bash disable=SC2154

# suite_file SUITE: its file. Some are scripts that are useful by themselves.
suite_file() {
	local file=$TOP/tools/testing/suites/$1
	[ -e "$file" ] || file=$TOP/scripts/$1
	echo "$file"
}
suite_files() {
	printf '%s\n' "$TOP"/tools/testing/suites/*
	grep -l '^# check: ' "$TOP"/scripts/* 2>/dev/null || :
}

# Print `WHEN BED SUITE HOW' for each: WHEN is check, more, tooling or all.
plan_lines() {
	local files
	mapfile -t files < <(suite_files)
	# Only what a file begins with: a suite of suites has others in its text. In a script a line `set'
	# stands before, so that its --help does not print it.
	awk '
		FNR == 1 { head = 1 }
		/^[^#]/ && !/^set / { head = 0 }
		head && /^# check( --(more|tooling|all))?: / && !/^# check: to its end$/ {
			suite = FILENAME
			sub(/.*\//, "", suite)
			when = "check"
			if ($3 ~ /^--/) { when = $3; gsub(/[-:]/, "", when) }
			sub(/^[^:]*: /, "")
			count = split($0, items, /, */)
			for (i = 1; i <= count; i++) {
				split(items[i] " ", words, " ")
				print when, words[1], suite, words[2]
			}
		}' "${files[@]}"
}

planned() { plan_lines | awk -v when="$1" '$1 == when && $2 != "own" { print $2, $3, $4 }'; } # WHEN
selection() { planned check; }
more() { planned more; }
tooling() { planned tooling; }
plan() {
	plan_lines | awk '
		BEGIN { width["faults"] = 1; width["races"] = 1; width["older"] = 1; width["stock"] = 2; width["brief"] = 3; width["quick"] = 4; width[""] = 5 }
		$2 != "own" {
			run = $2 " " $3
			if (!(run in how)) runs[++count] = run
			if (!(run in how) || width[$4] > width[how[run]]) how[run] = $4
		}
		END { for (i = 1; i <= count; i++) print runs[i], how[runs[i]] }'
}

# For --kernel; uses $flavour. The plain kernel has no KUnit.
own_fit() { awk -v flavour="$flavour" 'flavour != "plain" || ($2 != "kunit" && $2 != "kverbs")'; }
own_selection() { plan_lines | awk '$1 == "check" && $2 == "own" { print $2, $3, $4 }' | own_fit; }
own_plan() {
	{
		plan | sed -n 's/^plain /own /p'
		plan_lines | awk '$2 == "own" { print "own", $3 }'
	} | own_fit | awk '!seen[$1, $2]++'
}

# Does a suite stop before its end when there is no more time? Those that run in a guest mostly ask
# before each test (too_late() in tools/testing/lib.sh).
suite_stops() { # BED SUITE
	[ "$1" != host ] && ! grep -qs '^# check: to its end$' "$(suite_file "$2")"
}

# Print `BED SUITE PARAM PROGRAM [OPTIONS]' for each program that suites of the selection say they run;
# PROGRAM may be a pattern of the shell. PARAM: of the module; `-' for none, `*' where the suite makes
# its own devices.
selected_programs() {
	local bed suite how file runs param run
	while read -r bed suite how; do
		file=$(suite_file "$suite")
		runs=$(sed -n '/^[^#]/q; s/^# runs: //p' "$file")
		[ -n "$runs" ] || continue
		param=$(sed -n '/^[^#]/q; s/^# bed: .*--param //p; s/^# bed: --no-link$/*/p' "$file")
		if [ "$runs" = "what LIST=1 prints" ]; then
			DEV=none QUICK=$how LIST=1 "$file" </dev/null
		else
			sed 's/, */\n/g' <<<"$runs"
		fi | while IFS= read -r run; do printf '%s %s %s %s\n' "$bed" "$suite" "${param:--}" "$run"; done
	done < <(selection)
}
