# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Loads the box's pinion.ko after the modules it depends on. The arguments are module
# parameters. `modprobe pinion' inside the box runs this script, too.
. /run/box/lib/guest.sh
[ -e /sys/module/pinion ] && exit 0
for m in $(depends /run/box/mod/pinion.ko); do load "$m" || exit 1; done
insert /run/box/mod/pinion.ko "${*:-${BOX_PARAM:-}}"
