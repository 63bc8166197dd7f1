# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# How much has been tried in all runs on this machine, by kind: a number in a file of the cache
# for each, as `calls.BED' of the ioctl fuzzer. Read by check and check-long, after lib.sh.
# shellcheck shell=bash

counts=$CACHE/counts

# add_to_count NAME N: sets $sum to the number of all runs. Of no weight where the cache cannot be
# written.
add_to_count() {
	local was='' lock
	sum=$2
	mkdir -p "$counts" 2>/dev/null && { exec {lock}>"$counts/.lock"; } 2>/dev/null || return 0
	flock "$lock"
	{ read -r was <"$counts/$1"; } 2>/dev/null || :
	sum=$((${was:-0} + $2))
	echo "$sum" >"$counts/$1"
	exec {lock}>&-
}

# count_calls BED LOG: adds what the ioctl fuzzer says in LOG, if it ran; prints the sum.
count_calls() {
	local n sum
	n=$(awk '$1 == "#" && $2 == "calls:" { n += $3 } END { printf "%d", n }' "$2")
	((n)) || return 0
	add_to_count "calls.$1" "$n"
	echo "# $n calls of the ioctl fuzzer; calls so far on $1: $sum"
}
