# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# For the suites of kernel consumers: loads kernel modules, and prints the output of a step that
# fails. A suite restores the state of the machine at its end.
. "$(dirname "$0")/../lib.sh"

# load MODULE...: loads them, or skips the whole suite.
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

# step NAME FUNCTION [ARGUMENTS]: one test. If it fails, the suite ends, because later steps need
# it.
step() {
	local name=$1 pid rc=0 i
	shift
	mark "$name"
	# In the background, because timeout(1) cannot run a function.
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
# Lists blocked tasks with their kernel stacks.
blocked() {
	local t
	for t in /proc/[0-9]*; do
		grep -q '^State:.D' "$t/status" 2>/dev/null || continue
		echo "$(cat "$t/comm"): waits in"
		cat "$t/stack"
	done >>"$TMP/step"
}

# Prints how many memory regions kernel consumers still have, or ? if that is not known.
regions() {
	local lines
	lines=$(rdma resource show mr dev "$DEV" 2>/dev/null) || { echo '?'; return; }
	grep -c . <<<"$lines" || :
}
released() {
	local i
	for ((i = 0; i < 50 * SLOW; i++)); do
		[ "$(regions)" != 0 ] || return 0
		sleep 0.1
	done
	rdma resource show mr dev "$DEV"
	return 1
}

# Prints how many objects of each kind the device has; if that is not known, something else each
# time. Completion queues of the core's pool, which keeps them for later users, only count while they
# have one.
objects() {
	local all
	all=$(rdma resource show "$DEV") && [ -n "$all" ] || { echo "not known, $SRANDOM"; return; }
	sed 's/ cq [0-9]*//' <<<"$all"
	rdma resource show cq dev "$DEV" | grep -vc ' users 0 '
}
# as_before OBJECTS: the device has those again that `objects' printed.
as_before() {
	local i
	for ((i = 0; i < 100 * SLOW; i++)); do
		[ "$(objects)" != "$1" ] || return 0
		sleep 0.1
	done
	echo "before: $1"
	echo "now: $(objects)"
	for i in "qp link" "cq dev" "mr dev" "pd dev" "cm_id link" "srq dev"; do
		# shellcheck disable=SC2086 # two words
		rdma resource show $i "$DEV"
	done
	return 1
}
# unload MODULE...: in this order. Some of them end their objects a little later.
unload() {
	local m i
	for m; do
		for ((i = 0; i < 50 * SLOW; i++)); do
			[ -e "/sys/module/$m" ] && ! rmmod "$m" || continue 2
			sleep 0.2
		done
		return 1
	done
}
