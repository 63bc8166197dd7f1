# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Runs inside the box beside the command, and exits when that listens: by TCP, as most programs do
# to exchange QP numbers, or by rdma_cm. Nothing else listens in a box.
. /run/box/lib/guest.sh

# The fourth field is the state of a socket: 0A is listening.
tcp() { grep -Eqs '^ *[0-9]+: [0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6; }
rdma_cm() { have rdma && rdma resource show cm_id 2>/dev/null | grep -q 'state LISTEN'; }
until tcp || rdma_cm; do sleep 0.1; done
