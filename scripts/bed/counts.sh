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

# count_fuzzed BED LOG: adds the calls that fuzzers report in LOG, and the packets that
# hostile/packet_fuzz does, if any; prints the counts.
count_fuzzed() {
	count_reported calls "calls of the ioctl fuzzer; calls so far" "$@"
	count_reported netlink "messages of netlink; so far" "$@"
	count_reported ucm "commands for rdma_cm; so far" "$@"
	count_reported packets "packets to a device; so far" "$@"
}
count_reported() { # WORD TEXT BED LOG
	local n sum
	n=$(awk -v word="$1:" '$1 == "#" && $2 == word { n += $3 } END { printf "%d", n }' "$4")
	((n)) || return 0
	add_to_count "$1.$3" "$n"
	echo "# $n $2 on $3: $sum"
}
