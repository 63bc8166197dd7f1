# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Counts over all runs on this machine, each in a file of the cache, such as `calls.BED' for the
# calls of the ioctl fuzzer. Sourced by check and check-long, after lib.sh.
# shellcheck shell=bash

counts=$CACHE/counts

# add_to_count NAME N: adds N and sets $sum to the count, or to N if the cache cannot be written.
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

# count_packets BED LOG: likewise the packets that hostile/packet_fuzz has sent.
count_packets() {
	local n sum
	n=$(awk '$1 == "#" && $2 == "packets:" { n += $3 } END { printf "%d", n }' "$2")
	((n)) || return 0
	add_to_count "packets.$1" "$n"
	echo "# $n packets to a device; so far on $1: $sum"
}

# count_calls BED LOG: adds the calls that the ioctl fuzzer reports in LOG, if any; prints the
# count.
count_calls() {
	local n sum
	n=$(awk '$1 == "#" && $2 == "calls:" { n += $3 } END { printf "%d", n }' "$2")
	((n)) || return 0
	add_to_count "calls.$1" "$n"
	echo "# $n calls of the ioctl fuzzer; calls so far on $1: $sum"
}
