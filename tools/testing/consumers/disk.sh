# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# For the suites of disks behind RDMA: the disk of the target, and tests of the disk that the
# initiator has. Its file is what the function `remote' of the suite prints; empty if there is none.
. "$(dirname "$0")/../consumers/common.sh"

mnt=$TMP/mnt
mkdir -p "$mnt"

# The disk of the target, /dev/ram0: 128 MiB of memory.
ram_disk() {
	rmmod brd
	modprobe brd rd_nr=1 rd_size=131072
}
remote_is_there() { [ -b "$(remote)" ]; }
remote_is_gone() { [ -z "$(remote)" ]; }

# The first 8 MiB of the disk.
raw_there() {
	head -c 8388608 /dev/urandom >"$TMP/data"
	dd if="$TMP/data" of="$(remote)" bs=1M oflag=direct status=none
}
raw_back() {
	dd if="$(remote)" of="$TMP/back" bs=64k count=128 iflag=direct status=none && cmp "$TMP/data" "$TMP/back"
}
raw_of_target() { dd if=/dev/ram0 bs=1M count=8 iflag=direct status=none; }
raw() { raw_there && raw_back && cmp "$TMP/data" <(raw_of_target); }
format() { mkfs.ext4 -q -F "$(remote)" && mount "$(remote)" "$mnt"; }
check_fs() { umount "$mnt" && fsck.ext4 -f -n "$(remote)"; }

# Direct I/O, verified, in sizes from a page to more than one region.
verify="--directory=$mnt --direct=1 --ioengine=libaio --iodepth=8 --verify=crc32c
	--verify_fatal=1 --output-format=terse --minimal --fallocate=none"
size=48M
[ -z "$QUICK" ] || size=8M
fio_verify() {
	# shellcheck disable=SC2086
	fio --name=verify $verify --size=$size --rw=randwrite --bsrange=4k-1M --do_verify=1
}
fio_small() {
	# shellcheck disable=SC2086
	fio --name=small $verify --size=4M --rw=randrw --bs=4k --do_verify=1
}

# The connected queue pairs of the device, and whether one of OLD is no more.
connections() { rdma resource show qp link "$DEV" | sed -n 's/.* lqpn \([0-9]*\) .*type RC .*/\1/p' | sort; }
one_is_gone() { # OLD
	[ -n "$1" ] && [ -n "$(comm -23 <(echo "$1") <(connections))" ]
}

# Requests that the disk of the initiator has completed, and whether they are more than MANY.
completed() {
	local disk
	disk=$(remote)
	awk '{ print $1 + $5 }' "/sys/class/block/${disk#/dev/}/stat"
}
has_completed() { (($(completed) > $1)); } # MANY

# fio_during TIMES COMMAND...: COMMAND disturbs fio so many times, which writes and verifies again and
# again until then. Each time it ends one of the connections, which are its last argument, or nothing
# was disturbed.
fio_during() {
	local pid i times=$1 rc=0 old
	shift
	rm -f "$TMP/enough"
	while [ ! -e "$TMP/enough" ]; do
		# shellcheck disable=SC2086
		fio --name=during $verify --size=16M --rw=randwrite --bsrange=4k-256k --do_verify=1 --verify_backlog=64 || exit
	done &
	pid=$!
	for ((i = 0; i < times; i++)); do
		await has_completed $(($(completed) + 100)) || rc=1
		old=$(connections)
		kill -0 $pid && "$@" "$old" && await one_is_gone "$old" || rc=1
	done
	: >"$TMP/enough"
	wait $pid || rc=$?
	return $rc
}
