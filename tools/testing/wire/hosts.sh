# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034
# Two hosts for suites: network namespaces, a cable between them, and devices rx and pw at its
# ends. Needs lib.sh.

from=192.0.2.1 to=192.0.2.2 from6=fd00:99::1 to6=fd00:99::2
wanted=/sys/module/pinion/parameters/wire

in_ns() { ip netns exec "$@"; }
# hosts FAR NEAR: v0 is in FAR and has $from, v1 is in NEAR and has $to.
hosts() {
	hosts_make "$@"
	ip link add v0 netns "$far" type veth peer name v1 netns "$near"
	hosts_address
}
# hosts_apart FAR NEAR: the same with a switch between them, so that each has its own cable.
hosts_apart() {
	local n
	hosts_make "$@"
	ip link add switch type bridge
	ip link set switch up
	ip link add v0 netns "$far" type veth peer name port0
	ip link add v1 netns "$near" type veth peer name port1
	for n in port0 port1; do ip link set $n master switch up; done
	hosts_address
}
hosts_make() {
	local n
	far=$1 near=$2
	for n in "$@"; do
		ip netns add "$n"
		ip -n "$n" link set lo up
	done
}
# Also restores what a failed test of the cable left changed.
hosts_address() {
	host_address "$far" v0 $from $from6
	host_address "$near" v1 $to $to6
}
host_address() { # HOST NETDEV ADDRESS ADDRESS6
	ip -n "$1" route flush dev "$2" proto boot 2>/dev/null
	ip -n "$1" link set "$2" mtu 1500 up
	ip -n "$1" addr replace "$3/24" dev "$2"
	ip -n "$1" addr replace "$4/64" dev "$2" nodad
}
# index DEVICE HEX: index of the RoCE v2 GID that ends in HEX. One process, as the table is long.
index() {
	local dir=/sys/class/infiniband/$1/ports/1 i
	for i in $(grep -l "$2\$" "$dir"/gids/* 2>/dev/null); do
		i=${i##*/}
		[[ $(cat "$dir/gid_attrs/types/$i" 2>/dev/null) == "RoCE v2" ]] || continue
		echo "$i"
		return
	done
	return 1
}
# Waits until the network devices' addresses are GIDs: $r4, $r6, $p4 and $p6.
indices() {
	r4=$(await index rx ffff:c000:0201) || not_ok indices "rx has no $from"
	r6=$(await index rx :0000:0000:0001) || not_ok indices "rx has no $from6"
	p4=$(await index pw ffff:c000:0202) || not_ok indices "pw has no $to"
	p6=$(await index pw :0000:0000:0002) || not_ok indices "pw has no $to6"
}
# count COUNTER [DEVICE]
count() { cat "/sys/class/infiniband/${2:-pw}/ports/1/hw_counters/$1"; }
# near PROGRAM OPTIONS: a program with pw, on its host
# Unlike with `ip netns exec', debugfs stays mounted, and /sys has the counters of the device.
near() { ktap nsenter --net="/run/netns/$near" "$PROGRAMS/$1" --device pw "${@:2}"; }
# across PROGRAM OPTIONS: a program of conformance/ with pw, whose tests for two devices have rx as the other
across() { TRY_ON="${TRY_ON:-} --far" FAR=rx FAR_NET=$far near "conformance/$1" "${@:2}"; }
# far PROGRAM OPTIONS: a program of wire/, from pw to rx
far() { FAR=rx FAR_NET=$far near "wire/$1" "${@:2}"; }
