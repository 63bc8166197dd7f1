# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# How long each suite took when it last ran to its end here, and how much of a processor: the
# longest begin first, and beside those that mostly wait another one does, so that no processor
# is idle and all end together; and check can say how long it will be. Read by check, whose
# $runs ("BED SUITE HOW" each), $jobs, $most and $out it uses.
# shellcheck shell=bash disable=SC2154

durations=$CACHE/durations
# A guess for a suite that never ran here: seconds, and percent of a processor.
UNKNOWN='120 100'

# Sets $took and $busy.
duration_of() { # BED SUITE HOW
	took='' busy=''
	{ read -r took busy <"$durations/$1.$2.${3:-all}"; } 2>/dev/null || :
	[ -n "$took" ] || read -r took busy <<<"$UNKNOWN"
	[ -n "$busy" ] || busy=100
}
# Of no weight where the cache cannot be written. Whoever had to wait for a processor would
# have taken more of it: nobody counts as idle.
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

# Minutes until all that have no result yet have one.
minutes_left() {
	local r bed suite how longest=0 work=0 took busy
	for r in "${runs[@]}"; do
		read -r bed suite how <<<"$r"
		[ ! -e "$out/$bed.$suite.result" ] || continue
		duration_of "$bed" "$suite" "$how"
		work=$((work + took * busy / 100))
		((longest >= took)) || longest=$took
	done
	work=$((work / jobs))
	echo $(((work > longest ? work : longest) / 60 + 1))
}

# choose_next PERCENT...: sets $next to which of $left is to begin now, or to nothing, and $busy to what
# it takes. What those at work take are the arguments: there are $jobs of them, and up to $most
# while that leaves enough of a processor for one more.
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
