# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# In which order the suites of check run, how many at a time, and whether there is time for one.
# How long each took when it last ran to its end here, and how much of a processor, is kept in the
# cache: the longest begin first, and a further one begins beside suites that mostly wait, so
# that no processor is idle and all end together. For suites that never ran here there is a table
# of another machine's durations. Uses check's $runs ("BED SUITE HOW" each), $left, $jobs, $most,
# $minutes, $started and $out.
# shellcheck shell=bash disable=SC2154

durations=$CACHE/durations
shipped=$TOP/tools/testing/durations
# How suites say that there was no time for a test: too_late() in tools/testing/lib.sh.
NO_TIME="the time of the run is over"
# A guess for a suite that is not in the table either: seconds, and percent of a processor.
UNKNOWN='120 100'

# Sets $took and $busy.
duration_of() { # BED SUITE HOW
	local what took_there=''
	took='' busy=''
	{ read -r took busy <"$durations/$1.$2.${3:-all}"; } 2>/dev/null || :
	if [ -z "$took" ]; then
		while read -r what took busy; do
			[ "$what" != "$1.$2.${3:-all}" ] || { took_there=1; break; }
		done <"$shipped"
		[ -n "$took_there" ] || read -r took busy <<<"$UNKNOWN"
	fi
	[ -n "$busy" ] || busy=100
}
# Does nothing where the cache cannot be written. A suite that had to wait for a processor
# would have taken more of it, so none counts as idle.
remember_duration() { # SECONDS CPU-SECONDS BED SUITE HOW
	local busy=$((100 * $2 / ($1 ? $1 : 1)))
	((busy >= 20)) || busy=20
	{ mkdir -p "$durations" && echo "$1 $busy" >"$durations/$3.$4.${5:-all}"; } 2>/dev/null || :
}

# Of those that take as long, the first stays the first.
longest_first() {
	local r took busy
	for r in "${runs[@]}"; do
		# shellcheck disable=SC2086 # three words
		duration_of $r
		echo "$took $r"
	done | sort -srn -k 1,1 | cut -d' ' -f2-
}

# Sets $pace: the percentage of their expected time that those suites took which have ended; 100
# at least. It is measured from files, as each suite runs in a shell of its own.
measure_pace() {
	local expected=0 spent=0 e s
	while read -r e s; do
		expected=$((expected + e)) spent=$((spent + s))
	done < <(cat "$out"/*.pace 2>/dev/null)
	pace=100
	((expected < 60 || spent <= expected)) || pace=$((100 * spent / expected))
}
note_pace() { # EXPECTED TOOK BED SUITE
	echo "$1 $2" >"$out/$3.$4.pace"
}

# Minutes until all that have no result yet have one.
minutes_left() {
	local r bed suite how longest=0 work=0 took busy pace
	measure_pace
	for r in "${runs[@]}"; do
		read -r bed suite how <<<"$r"
		[ ! -e "$out/$bed.$suite.result" ] || continue
		duration_of "$bed" "$suite" "$how"
		work=$((work + took * busy / 100))
		((longest >= took)) || longest=$took
	done
	work=$((work / jobs))
	echo $(((work > longest ? work : longest) * pace / 6000 + 1))
}

# Says why there is no time for a suite, if so: it would not end before PINION_MINUTES. One of
# the guests that asks lib.sh before each test ends by itself, so it may begin.
no_time_because() { # BED SUITE HOW
	local took busy pace rest
	((minutes)) || return 0
	rest=$((started + minutes * 60 - SECONDS))
	((rest > 0)) || { echo "$NO_TIME: PINION_MINUTES=$minutes"; return; }
	! suite_stops "$1" "$2" || return 0
	duration_of "$@"
	measure_pace
	took=$((took * pace / 100))
	((took <= rest)) ||
		echo "$NO_TIME before its end: it takes about $((took / 60 + 1)) minutes, $((rest / 60)) of PINION_MINUTES=$minutes are left"
}

# choose_next PERCENT...: sets $next to the index in $left of the suite that is to begin now, or to
# nothing, and $busy to the percentage of a processor it takes. The arguments are what those at work
# take: $jobs of them run at a time, and up to $most while they leave enough of a processor for one
# more.
choose_next() {
	local took idle=$((jobs * 100)) one
	for one; do idle=$((idle - one)); done
	for next in "${!left[@]}"; do
		# shellcheck disable=SC2086 # three words
		duration_of ${left[next]}
		(($# >= jobs && ($# >= most || busy > idle))) || return 0
	done
	next=''
}
