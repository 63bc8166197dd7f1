# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Loads the pinion.ko shown to the box, what it needs first; the arguments are
# module parameters. modprobe inside the box ends here too.
. /run/box/lib/guest.sh
[ -e /sys/module/pinion ] && exit 0
for m in $(depends /run/box/mod/pinion.ko); do load "$m" || exit 1; done
insert /run/box/mod/pinion.ko "${*:-${BOX_PARAM:-}}"
