# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# What the kernel consumers' suites share: modules of the kernel, and what each
# step of a test printed. A suite ends with the machine as it was.
. "$(dirname "$0")/../lib.sh"

# load MODULE...: or skip the whole suite.
load() {
	local m
	for m; do
		modprobe -q "$m" || {
			skip all "no $m in this kernel"
			finish
		}
	done
}
want() { # PROGRAM...
	local p
	for p; do
		have "$p" || {
			skip all "no $p in this root"
			finish
		}
	done
}

# step NAME FUNCTION [ARGUMENTS]: one test; after one that fails the rest of the
# suite has nothing to stand on.
step() {
	local name=$1 pid rc=0 i
	shift
	# A function cannot be given to timeout(1).
	"$@" >"$TMP/step" 2>&1 </dev/null &
	pid=$!
	for ((i = 0; i < LIMIT * SLOW * 5; i++)); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.2
	done
	if kill -0 $pid 2>/dev/null; then
		blocked
		kill -9 $pid 2>/dev/null
		rc=124
	else
		wait $pid || rc=$?
	fi
	if ((rc)); then
		tail -n 25 "$TMP/step" | show
		dmesg | tail -n 25 | show
		not_ok "$name" "$(why $rc)"
		return 1
	fi
	ok "$name"
}
# Who waits where, as the kernel sees it.
blocked() {
	local t
	for t in /proc/[0-9]*; do
		grep -q '^State:.D' "$t/status" 2>/dev/null || continue
		echo "$(cat "$t/comm"): waits in"
		cat "$t/stack"
	done >>"$TMP/step"
}

# Nothing of the device is held by the kernel's consumers any more.
regions() { rdma resource show mr dev "$DEV" 2>/dev/null | grep -c . ; }
released() {
	local i
	for ((i = 0; i < 50 * SLOW; i++)); do
		[ "$(regions)" != 0 ] || return 0
		sleep 0.1
	done
	rdma resource show mr dev "$DEV"
	return 1
}
