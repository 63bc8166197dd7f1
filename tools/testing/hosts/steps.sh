# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154 # of ways()
# For what two hosts do together: the same script runs on both, and each step on one of them. host1
# prints the results. The argument is a folder that both see. To be sourced after common.sh.
shared=${1:?the folder that both hosts see}
[ "$PINION_HOST" = 1 ] || exec >/dev/null

# on HOST NAME FUNCTION [ARGUMENTS]: a step() of this host. The other waits for it.
# A file is renamed when it is complete and has left the cache of the guest.
on() {
	local host=$1 result=$shared/$2.result
	shift
	if [ "$PINION_HOST" = "$host" ]; then
		step "$@" >"$result.new"
		sync "$result.new" && mv "$result.new" "$result"
	else
		until [ -e "$result" ]; do pause 0.1; done
		tests=$((tests + 1))
		! grep -q '^not ok' "$result" || failures=$((failures + 1))
	fi
	[ "$PINION_HOST" != 1 ] || cat "$result"
	! grep -q '^not ok' "$result"
}

# here NAME FUNCTION...: keeps the checksum of what this prints. there NAME FUNCTION...: compares it.
# Each name is written once, as a guest may not notice that another one changes a file.
here() {
	local file=$shared/$way.$1.sum
	shift
	"$@" | sha256sum >"$file" && sync "$file"
}
there() {
	local file=$shared/$way.$1.sum
	shift
	"$@" | sha256sum | cmp - "$file"
}

# ways FUNCTION: each of the hosts is the $server once, at $ADDR. Results begin with "$way.".
ways() {
	server=1 client=2 way=host1-serves ADDR=10.0.101.1 "$@"
	server=2 client=1 way=host2-serves ADDR=10.0.101.2 "$@"
}

# The bytes that went through eth0 of this host, and the packets of its RDMA device.
traffic() {
	local n bytes=0 packets=0 file dir=/sys/class/infiniband/$DEV/ports/1/hw_counters
	for file in /sys/class/net/eth0/statistics/{rx,tx}_bytes; do read -r n <"$file" && bytes=$((bytes + n)); done
	for file in "$dir"/{sent_pkts,rcvd_pkts,port_xmit_packets,port_rcv_packets}; do
		{ read -r n <"$file"; } 2>/dev/null && packets=$((packets + n))
	done
	echo "$bytes $packets"
}
# moved BYTES SINCE: so many bytes at least have gone through both since traffic() printed SINCE.
moved() {
	local bytes packets was_bytes was_packets
	read -r was_bytes was_packets <<<"$2"
	read -r bytes packets < <(traffic)
	echo "$((bytes - was_bytes)) bytes by eth0, $((packets - was_packets)) packets by $DEV"
	((bytes - was_bytes >= $1 && packets - was_packets >= $1 / 4096))
}
