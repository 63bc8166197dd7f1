# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Loads pinion_kunit.ko and prints its results in KTAP. Fails if a test failed.
. /run/box/lib/guest.sh
load kunit
f=/run/box/mod/pinion_kunit.ko
for m in $(depends $f); do
	if [ "$m" = pinion ]; then sh /run/box/lib/load-pinion.sh; else load "$m"; fi || exit 1
done
# Tests of failing allocations request each failure; no other allocation fails.
failslab=/sys/kernel/debug/failslab
if [ -d $failslab ]; then
	echo N >$failslab/ignore-gfp-wait
	echo 0 >$failslab/verbose
fi
insert $f || exit 1
cat /sys/kernel/debug/kunit/*/results || exit 1
n=$(grep -h -c '^not ok' /sys/kernel/debug/kunit/*/results | awk '{ n += $1 } END { print n + 0 }')
[ "$n" = 0 ]
