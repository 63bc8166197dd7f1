# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Runs inside the box after the command: removes the devices and the module, so that the kernel
# reports on the console what was not freed; and reports what its RDMA core has not freed.
set -u
. /run/box/lib/guest.sh
. /run/box/lib/allocated.sh

status=0
if have rdma; then
	for d in /sys/class/infiniband/*; do
		[ -e "$d" ] && rdma link del "${d##*/}" 2>/dev/null
	done
fi
for m in pinion_kunit pinion; do
	[ -e /sys/module/$m ] || continue
	i=0
	# The core may hold a reference to a device for a moment after its last user.
	until /run/box/lib/box-init rmmod $m 2>/run/box/rmmod; do
		i=$((i + 1))
		if [ $i -gt 1000 ]; then
			echo "pinion-box: rmmod $m: $(cat /run/box/rmmod)" >&2
			status=1
			break
		fi
		sleep 0.1
	done
done

# Some of it is freed by work items, or after a grace period.
if [ -e /run/box/allocated ]; then
	i=0
	while grown /run/box/allocated >/run/box/grown && [ -s /run/box/grown ] && [ $i -lt 100 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	while read -r line; do echo "box: not freed: $line" >/dev/kmsg; done </run/box/grown
fi

# The kernel keeps the counters of an unloaded module, so these include its exit code.
if [ -d /run/box/gcov ]; then
	# With few processes, because there is a file for each source file.
	cd /sys/kernel/debug/gcov && find . -name '*.gcda' -exec cp --parents -t /run/box/gcov {} +
fi
exit $status
