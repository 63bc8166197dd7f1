# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034 # of those who read this
# What is measured where nothing else is asked for: VERB/KIND/BYTES. KIND is bw, lat, rate (in lists
# of 32), cpu (of all processors, for a GB, where both sides sleep until something has come, which perftest can
# with reads) or pollcpu (the same where they look without rest, as in bw).
rows() { # KIND VERB SIZE...
	printf "$2/$1/%s " "${@:3}"
}
ROWS_OF_DEVICES="$(rows bw write 4096 16384 65536 262144 1048576 16777216)$(rows bw send 4096 65536 1048576)\
$(rows bw read 4096 65536 1048576)$(rows lat write 8 256 4096 65536)$(rows lat send 8 4096)$(rows lat read 8 4096)\
$(rows rate write 8)$(rows rate send 8)$(rows cpu read 65536 1048576)$(rows pollcpu write 65536 1048576)"
ROWS_OF_STREAMS="$(rows bw write 4096 65536 1048576)$(rows bw send 65536 1048576)$(rows bw read 65536 1048576)\
$(rows lat write 8)$(rows lat send 8)$(rows rate write 8)$(rows rate send 8)"
ROWS_OF_WIRE="$(rows bw write 65536 1048576)$(rows bw send 65536 1048576)$(rows bw read 65536 1048576)\
write/lat/8 write/bw/65536/x10 write/bw/65536/x100 write/bw/65536/x1000 $(rows cpu read 1048576)"
ROWS_OF_ICOUNT="write/bw/65536 write/lat/8 write/rate/8"

# limits DEVICE: `limit NAME VALUE', what this machine can do at best
limits() {
	local uverbs
	uverbs=$(grep -lx "$1" /sys/class/infiniband_verbs/uverbs*/ibdev)
	uverbs=${uverbs%/ibdev}
	[ -z "${LIMITS:-}" ] || "$LIMITS" "/dev/infiniband/${uverbs##*/}" | sed 's/^/limit /'
	[ -n "${MEMCPY:-}" ] || return 0
	rmmod pinion_memcpy 2>/dev/null
	dmesg -C
	insmod "$MEMCPY" && dmesg | sed -n 's/.*pinion_memcpy: /limit /p'
}
