# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Shared by pinion-box and scripts/qemu: several machines as hosts on one network (--hosts).
# box-hosts starts each by the same script with the same options and its own command. The script
# connects FD 5 to the machine's network card.
# shellcheck shell=bash disable=SC2034,SC2154

# The address of host1. Many programs would resolve its name to an IPv6 address, on which few
# servers listen.
first=10.0.101.1
hosts=
drivers=
listen=
# The default of --listen where the other commands wait for that of host1.
LISTEN=30
# In a box that is one of several hosts: its number, the descriptors of its network and of
# box-hosts, and whether to report that its command listens. Empty in a single box.
member=()
read -ra member <<<"${PINION_BOX_MEMBER:-}"
unset PINION_BOX_MEMBER

# Handles the options of this file. Sets $took like own_option().
hosts_option() {
	took=2
	case $1 in
	--hosts) hosts=${2:-} ;;
	--hosts=*) hosts=${1#*=} took=1 ;;
	--drivers) drivers=${2:-} ;;
	--drivers=*) drivers=${1#*=} took=1 ;;
	--listen) listen=${2:-} ;;
	--listen=*) listen=${1#*=} took=1 ;;
	*) took=0 ;;
	esac
}

# Checks options that need --hosts, or cannot be combined with it.
hosts_check() {
	local d
	if [ -z "$hosts" ]; then
		[ -z "$drivers$listen" ] || fail "--drivers and --listen are for --hosts"
		return 0
	fi
	[[ $hosts =~ ^[2-8]$ ]] || fail "--hosts: 2 to 8"
	[[ $listen =~ ^[0-9]*$ ]] || fail "--listen: \`$listen' is not a number"
	((devices == 1)) || fail "--hosts: each host has one device, so there is no --devices"
	((netns == 0)) || fail "--hosts: a host has no further namespaces, so there is no --netns"
	[ -z "$with" ] || fail "--hosts: two drivers of one host would want the same UDP port, so there is no --with; see --drivers"
	[ -z "$kunit" ] || fail "--hosts: unit tests need no other host, so there is no --kunit"
	((${#given[@]})) || fail "--hosts: a shell for each would need a terminal for each: say what they run"
	for d in ${drivers//,/ }; do
		case $d in pinion | rxe | siw) ;; *) fail "--drivers $d: only pinion, rxe and siw are known" ;; esac
	done
	hosts_list --drivers "$drivers"
	[ -z "$drivers" ] || [ "$links$device" = 11 ] || fail "--drivers: with --no-link and --no-device there is none"
}

# hosts_list OPTION LIST: fails if the list A,B,... has more elements than there are hosts.
hosts_list() {
	local commas=${2//[^,]/}
	((${#commas} < hosts)) || fail "$1: more than there are hosts"
}

# Prints the element of a list A,B,... that is for a host. The last one is also for the hosts after it.
host_of() { # HOST LIST
	local all
	IFS=, read -ra all <<<"$2"
	(($1 <= ${#all[@]})) || set -- ${#all[@]}
	printf '%s\n' "${all[$1 - 1]}"
}

# Changes the options for a machine's part as one of the hosts.
hosts_become() {
	host=${member[0]}
	driver=$(host_of "$host" "${drivers:-pinion}")
	[ "$driver" = pinion ] || device=
	[ -z "$log" ] || log+=.host$host
	[ -z "$gcov" ] || gcov+=/host$host
	BOX_UP=$((${BOX_UP:-60} * 2))
	peers=(-n "${member[1]}" -p "${member[2]}")
}

# Adds the variables for setup.sh and for the command.
hosts_environment() {
	printf '%s\0' BOX_HOST="$host" BOX_HOSTS="$hosts" BOX_DRIVER="$driver" >>"$job/setup.env"
	printf '%s\0' PINION_HOST="$host" PINION_HOSTS="$hosts" PINION_SERVER=$first >>"$job/env"
	conf hosts "$hosts"
	((member[3] == 0)) || conf listen 1
}

# hosts_pair COMMAND...: if the program can be server and client, sets $server and $client to the
# two command lines; otherwise false.
hosts_pair() {
	case ${1##*/} in
	ib_read_bw | ib_read_lat | ib_write_bw | ib_write_lat | ib_send_bw | ib_send_lat | ib_atomic_bw | ib_atomic_lat | \
		ibv_rc_pingpong | ibv_uc_pingpong | ibv_ud_pingpong | ibv_srq_pingpong | ibv_xsrq_pingpong | \
		ucx_perftest | fi_pingpong)
		server=("$@") client=("$@" "$first")
		;;
	rping) server=("$@" -s) client=("$@" -c -a "$first") ;;
	ucmatose | udaddy | cmtime | rstream | riostream) server=("$@") client=("$@" -s "$first") ;;
	*) return 1 ;;
	esac
}

# Adds the command lines of all hosts to $members, each preceded by its length, for box-hosts.
# In: "$@" the options.
hosts_commands() {
	local server client word one=() n=1
	if hosts_pair "${command[@]}" && [[ " ${command[*]} " != *' ::: '* ]]; then
		((hosts == 2)) ||
			fail "--hosts $hosts: ${command[0]} serves one client, so --hosts 2, or a command for each host: FIRST ::: SECOND ..."
		hosts_add "$@" -- "${server[@]}"
		hosts_add "$@" -- "${client[@]}"
		: "${listen:=$LISTEN}"
		return
	fi
	if [[ " ${command[*]} " != *' ::: '* ]]; then
		for ((; n <= hosts; n++)); do hosts_add "$@" -- "${command[@]}"; done
		return
	fi
	for word in "${command[@]}" :::; do
		if [ "$word" != ::: ]; then
			one+=("$word")
			continue
		fi
		((${#one[@]})) || fail "--hosts: there is no command for host$n"
		((n++ <= hosts)) || fail "--hosts $hosts: there are more commands than hosts"
		hosts_add "$@" -- "${one[@]}"
		one=()
	done
	((--n == hosts)) || fail "--hosts $hosts: there are $n commands, which are to be one, or one for each host"
	: "${listen:=$LISTEN}"
}
hosts_add() { members+=($(($# + 1)) "$self" "$@"); }

# hosts_run ARGUMENTS: starts box-hosts with the arguments of this call; never returns.
hosts_run() {
	local members=() options=("${@:1:$#-${#given[@]}}")
	[ "${options[-1]}" != -- ] || unset 'options[-1]'
	hosts_commands "${options[@]}"
	((${listen:-0} == 0)) || set -- -l "$listen"
	((${listen:-0} != 0)) || set --
	exec -a "$BOX" "$lib/box-hosts" "$@" ${verbose:+-v} "${members[@]}"
}
