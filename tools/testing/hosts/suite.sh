# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154 # of the suites, and of ways()
# For the suites that start several machines as hosts on one network, by the command $box, or $bare
# for machines without devices.
. "$(dirname "$0")/../lib.sh"

tree=$(readlink -f "$HERE/../..")
LIMIT=300
box=()
bare=()
# What played() runs.
list=

# gives NAME STATUS COMMAND...
gives() {
	local name=$1 status=$2 rc=0
	shift 2
	limited "$@" >"$TMP/out" 2>"$TMP/err" </dev/null || rc=$?
	if ((rc == status)); then
		ok "$name"
	else
		tail -n 25 "$TMP/out" "$TMP/err" | show
		not_ok "$name" "exit status $rc, not $status"
		return 1
	fi
}
# says NAME FILE REGEX: the last command has left such a line in $TMP/FILE
says() {
	if grep -Eq -e "$3" "$TMP/$2"; then
		ok "$1"
	else
		show "$TMP/out" "$TMP/err"
		not_ok "$1" "no line of $2 is $3"
	fi
}
# rping's own threads may hang in tearing down after all is done, see ping() of lib.sh.
rping_was_done() { # NAME
	[[ $1 == rping* ]] && (($(grep -c '^ping data:' "$shared/$1.client") == 20)) &&
		! grep -q mismatch "$shared/$1.client" && grep -q 'server DISCONNECT EVENT' "$shared/$1.server"
}
# played NAME HOSTS OPTIONS...: the tests of $list, each as NAME-ITSELF; and that packets went
# through eth0 of each host.
played() {
	local group=$1 hosts=$2 name rest i side rc most=0 packets
	shift 2
	shared=$TMP/$group
	mkdir "$shared"
	printf '%s\n' "$list" >"$shared/list"
	gives "$group" 0 "${box[@]}" --hosts "$hosts" --rw "$shared" "$@" -- env "SLOW=$SLOW" "$HERE/hosts/play" "$shared"
	while IFS='|' read -r name rest; do
		most=0
		for side in server client; do
			[[ $side = client || $rest != ?'|'?'||'* ]] || continue
			rc=$(cat "$shared/$name.$side.rc" 2>/dev/null)
			((${rc:-99} == 0)) || rping_was_done "$name" || most=${rc:-99}
		done
		if ((most)); then
			tail -n 12 "$shared/$name".{server,client} 2>/dev/null | show
			not_ok "$group-$name" "$(why "$most")"
		elif ! mtu_as_told "$shared/$name.client" "$name" "${rest##*|}"; then
			grep -i mtu "$shared/$name.client" | show
			not_ok "$group-$name" "the path MTU is another"
		else
			ok "$group-$name"
		fi
	done <<<"$list"
	for ((i = 1; i <= hosts; i++)); do
		packets=$(sort -n "$shared/host$i.counts" 2>/dev/null | head -n 1)
		if ((${packets:-0} >= 500)); then
			ok "$group-host$i-packets"
		else
			not_ok "$group-host$i-packets" "${packets:-no} packets one way or the other"
		fi
	done
}
# perftest NAME TOOL OPTIONS
# between SERVER CLIENT [AS]: the tests of one way
perftest() { printf '%s|%s|%s|%s|%s host%s\n' "$1" "$one" "$two" "$2 -F ${*:3}" "$2 -F ${*:3}" "$one"; }
# These compare what has arrived.
pingpong() { # KIND SIZE
	local cmd="ibv_$1_pingpong -d \$DEV -g \$GID -c -n 100 -s $2"
	printf '%s|%s|%s|%s|%s host%s\n' "data-$1$as" "$one" "$two" "$cmd" "$cmd" "$one"
}
by_address() {
	local cmd="stdbuf -oL rping -C 20 -v -V -S 5000"
	printf 'rping%s|%s|%s|%s -s|%s -c -a 10.0.101.%s\n' "$as" "$one" "$two" "$cmd" "$cmd" "$one"
}
echoes() { printf 'ping%s|%s|%s||%s host%s 20 1400\n' "$as" "$one" "$two" "$HERE/hosts/ping.py" "$one"; }

# ways COMMAND...: each way, as server and client are not the same to a driver.
ways() {
	one=1 two=2 as=-to-host1 "$@"
	one=2 two=1 as=-to-host2 "$@"
}
# Bytes of the messages that are compared.
length=100001
with_rxe() { # OPTIONS-OF-PERFTEST...
	local mtu
	echoes
	perftest write-bw$as ib_write_bw -s 65536 -n 100 "$@"
	perftest read-bw$as ib_read_bw -s 65536 -n 100 "$@"
	perftest send-bw$as ib_send_bw -s 65536 -n 100 "$@"
	for mtu in 256 512 1024 2048 4096; do
		perftest write-bw-$mtu$as ib_write_bw -m $mtu -s 65536 -n 50 "$@"
		perftest read-bw-$mtu$as ib_read_bw -m $mtu -s 65536 -n 50 "$@"
		perftest send-bw-$mtu$as ib_send_bw -m $mtu -s 65536 -n 50 "$@"
		perftest write-uc-$mtu$as ib_write_lat -c UC -m $mtu -s 5000 -n 50 "$@"
		perftest send-uc-$mtu$as ib_send_lat -c UC -m $mtu -s 5000 -n 50 "$@"
		perftest send-ud-$mtu$as ib_send_lat -c UD -m $mtu -s $mtu -n 50 "$@"
		perftest send-srq-$mtu$as ib_send_bw --use-srq -m $mtu -s 65536 -n 50 "$@"
		perftest fetch-add-$mtu$as ib_atomic_bw -A FETCH_AND_ADD -m $mtu -n 50 "$@"
		perftest compare-swap-$mtu$as ib_atomic_bw -A CMP_AND_SWAP -m $mtu -n 50 "$@"
	done
	pingpong rc $length
	pingpong ud 1024
	by_address
}

# no NAME WHY OPTIONS...: the command $bare, called $called, refuses them.
no() {
	gives "no-$1" 123 "${bare[@]}" "${@:3}" || return
	says "no-$1-says-why" err "^$called: .*$2"
}
# refusals CALLED: what cannot be, with whatever machines.
refusals() {
	local called=$1
	no many '2 to 8' --hosts 9 -- true
	no devices 'each host has one device' --hosts 2 --devices 2 -- true
	no netns 'no further namespaces' --hosts 2 --netns 2 -- true
	no with 'see --drivers' --hosts 2 --with rxe -- true
	no kunit 'unit tests' --hosts 2 --kunit
	no shell 'say what they run' --hosts 2
	no driver 'only pinion, rxe and siw' --hosts 2 --drivers mlx -- true
	no drivers 'are for --hosts' --drivers rxe -- true
	no third-client 'serves one client' --hosts 3 -- ib_write_bw
	no fewer-commands 'there are 2 commands' --hosts 3 -- true ::: true
	no more-commands 'more commands than hosts' --hosts 2 -- true ::: true ::: true
	no empty-command 'no command for host2' --hosts 2 -- true ::: ::: true
}
