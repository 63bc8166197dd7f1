# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# For the suites whose target is the kernel's LIO: its disk, and the one that SCSI has at the other
# end.
. "$(dirname "$0")/../consumers/disk.sh"

lio=/sys/kernel/config/target
# shellcheck disable=SC2034 # of the suites
store=$lio/core/iblock_0/disk

open_store() {
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
	ram_disk && mkdir "$lio/core/iblock_0" "$store" || return
	printf udev_path=/dev/ram0 >"$store/control" && echo 1 >"$store/enable"
}
close_store() { rmdir "$store" "$lio/core/iblock_0"; }

remote() {
	local d vendor
	for d in /sys/block/sd*; do
		read -r vendor 2>/dev/null <"$d/device/vendor" || continue
		[ "$vendor" != LIO-ORG ] || echo "/dev/${d##*/}"
	done
}
