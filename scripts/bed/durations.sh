# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# How long each suite took when it last ran to its end here: the longest begin first, so
# that all who run at a time end together, and check can say how long it will be. Read by
# check, whose $runs ("BED SUITE HOW" each), $jobs and $out it uses.
# shellcheck shell=bash disable=SC2154

durations=$CACHE/durations
# A guess for a suite that never ran here.
UNKNOWN=120

duration_file() { echo "$durations/$1.$2.${3:-all}"; } # BED SUITE HOW
duration_of() { cat "$(duration_file "$@")" 2>/dev/null || echo $UNKNOWN; }
# Of no weight where the cache cannot be written.
remember_duration() { # SECONDS BED SUITE HOW
	{ mkdir -p "$durations" && echo "$1" >"$(duration_file "${@:2}")"; } 2>/dev/null || :
}

# Of those that take as long, the first stays the first.
longest_first() {
	local r
	for r in "${runs[@]}"; do
		# shellcheck disable=SC2086 # three words
		echo "$(duration_of $r) $r"
	done | sort -srn -k 1,1 | cut -d' ' -f2-
}

# Minutes until all that have no result yet have one.
minutes_left() {
	local r bed suite how longest=0 sum=0 one
	for r in "${runs[@]}"; do
		read -r bed suite how <<<"$r"
		[ ! -e "$out/$bed.$suite.result" ] || continue
		one=$(duration_of "$bed" "$suite" "$how")
		sum=$((sum + one))
		((longest >= one)) || longest=$one
	done
	sum=$((sum / jobs))
	echo $(((sum > longest ? sum : longest) / 60 + 1))
}
