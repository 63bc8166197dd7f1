# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# NVMe over RDMA: a target with a RAM disk at $ADDR, and the host that is connected to it.
. "$(dirname "$0")/../consumers/disk.sh"

nqn=pinion-test
target=/sys/kernel/config/nvmet
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config

expose() {
	ram_disk
	mkdir "$target/subsystems/$nqn" "$target/subsystems/$nqn/namespaces/1" "$target/ports/1" || return
	echo 1 >"$target/subsystems/$nqn/attr_allow_any_host"
	echo /dev/ram0 >"$target/subsystems/$nqn/namespaces/1/device_path"
	echo 1 >"$target/subsystems/$nqn/namespaces/1/enable" || return
	cd "$target/ports/1" || return
	echo rdma >addr_trtype
	echo ipv4 >addr_adrfam
	echo "$ADDR" >addr_traddr
	echo 4420 >addr_trsvcid
	ln -s "$target/subsystems/$nqn" subsystems/
}
hide() {
	rm "$target/ports/1/subsystems/$nqn"
	rmdir "$target/ports/1" "$target/subsystems/$nqn/namespaces/1" "$target/subsystems/$nqn"
}

controller() {
	local c
	for c in /sys/class/nvme/nvme*; do
		[ "$(cat "$c/subsysnqn" 2>/dev/null)" != "$nqn" ] || echo "${c##*/}"
	done
}
state() { cat "/sys/class/nvme/$1/state"; }
live() { # CONTROLLER
	local i
	for ((i = 0; i < 100 * SLOW; i++)); do
		[ "$(state "$1")" != live ] || return 0
		sleep 0.1
	done
	echo "state of $1: $(state "$1")"
	return 1
}
remote() {
	local n
	for n in "/dev/$(controller)"n*; do [ ! -b "$n" ] || echo "$n"; done
}

connect() {
	local i
	nvme connect -t rdma -n $nqn -a "$ADDR" -s 4420 -i 2 -Q 32 "$@" || return
	for ((i = 0; i < 50 * SLOW; i++)); do
		[ -z "$(remote)" ] || return 0
		sleep 0.1
	done
	return 1
}
discover() { nvme discover -t rdma -a "$ADDR" -s 4420 | tee /dev/stderr | grep -q "$nqn"; }

reset() {
	local c
	c=$(controller)
	nvme reset "/dev/$c" && live "$c"
}
disconnect() { nvme disconnect -n $nqn && [ -z "$(controller)" ]; }
