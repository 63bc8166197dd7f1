# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Measures one figure by one run of perftest between two processes of this bed, and many figures in
# turn.
. "$(dirname "${BASH_SOURCE[0]}")/../testing/lib.sh"

# The duration of one run in milliseconds, the same for all devices, however slow. `pace' has the
# nanoseconds for each message, known from the previous run.
RUN_MS=${RUN_MS:-500}
declare -A pace

is_iwarp() { grep -q RNIC "/sys/class/infiniband/$1/node_type" 2>/dev/null; }

# messages PACE RUN_MS QUEUES MOST: print how many messages each queue pair sends in a run. From 32
# on it is a multiple of 32, the length of lists of requests; perftest needs at least 5.
messages() {
	local n=$(($2 * 1000000 / $1 / $3))
	((n < $4)) || n=$4
	((n < 10000000)) || n=10000000
	((n < 32)) || n=$((n / 32 * 32))
	echo $((n < 5 ? 5 : n))
}

# Busy time of all processors since boot, in milliseconds.
busy_ms() { awk -v hz="$(getconf CLK_TCK)" '/^cpu / { print int(($2 + $3 + $4 + $7 + $8) * 1000 / hz) }' /proc/stat; }

# has_address DEVICE: does its netdev have an IPv4 address? Sets ${address[DEVICE]} to the first one.
declare -A address
has_address() {
	local netdev
	[ -z "${address[$1]:-}" ] || return 0
	netdev=$(rdma link show "$1/1" | sed -n 's/.* netdev \([^ ]*\).*/\1/p')
	address[$1]=$(ip -4 -o addr show dev "$netdev" | sed -n 's|.* inet \([0-9.]*\)/.*|\1|p' | head -n 1)
	[ -n "${address[$1]}" ]
}

# The status of a run that another device carried.
ANOTHER=121
# Print how many messages all other devices have sent. siw does not count any.
others_have_sent() { # DEVICE...
	local dir name sum=0 n
	for dir in /sys/class/infiniband/*/ports/1/hw_counters; do
		name=${dir%/ports/*}
		[[ " $* " != *" ${name##*/} "* ]] || continue
		for n in tx_messages sent_pkts; do
			[ ! -e "$dir/$n" ] || sum=$((sum + $(<"$dir/$n")))
		done
	done
	echo $sum
}

# perftest_once DEVICE VERB KIND BYTES QUEUES MESSAGES: one run. Sets $FIGURE, $DETAILS (NAME=VALUE
# ...) and $BUSY, the busy time of all processors in milliseconds. The status is not 0 if the run
# is void. For a server in another namespace: FAR_DEV is its device, FAR_ADDR its address,
# NEAR_ADDR the client's address, FAR_IN and NEAR_IN are prefixes of the commands of server and
# client, and FAR_MORE has further arguments of the server.
perftest_once() {
	local dev=$1 verb=$2 kind=$3 bytes=$4 queues=$5 n=$6 tool=ib_$2_bw ready far=${FAR_DEV:-$1} near_gid='' far_gid='' cmd busy words sent addr=${FAR_ADDR:-}
	[ "$kind" != lat ] || tool=ib_${verb}_lat
	if [ -z "$addr" ]; then
		has_address "$dev" || return
		addr=${address[$dev]}
	fi
	port=$((port + 1))
	ready=tcp:$port
	cmd="-p $port -F -s $bytes -n $n"
	((queues == 1)) || cmd+=" -q $queues"
	case $kind in
	bw | pollcpu) cmd+=" -N" ;;
	cpu | packet) cmd+=" -N -e" ;;
	rate) cmd+=" -N -l 32" ;;
	esac
	# iWARP devices connect by rdma_cm only.
	if is_iwarp "$dev"; then
		cmd+=" -R"
		ready=cm:$port
	else
		far_gid="-x $(gid_index "$far" "$addr")"
		near_gid="-x $(gid_index "$dev" "${NEAR_ADDR:-$addr}")"
	fi
	sent=$(others_have_sent "$dev" "$far")
	busy=$(busy_ms)
	both "$ready" "${FAR_IN:-} $tool -d $far $far_gid $cmd ${FAR_MORE:-}" "${NEAR_IN:-} $tool -d $dev $near_gid $cmd $addr" || return
	BUSY=$(($(busy_ms) - busy))
	# rdma_cm may have chosen another device that has this address. perftest does not notice.
	(($(others_have_sent "$dev" "$far") - sent < n * queues)) || return $ANOTHER
	# For small messages perftest prints the message rate with more digits than the GB/s.
	words=$(awk -v kind="$kind" -v bytes="$bytes" '$1 ~ /^[0-9]+$/ && NF >= 5 {
		if (kind == "lat") {
			value = $5
			details = " p50=" $5 " p99=" $8 " p999=" $9 " max=" $4
		} else
			value = kind == "rate" ? $5 : bytes < 4096 ? $5 * bytes / 1000 : $4 * 1.048576 / 1000
		if (value > 0 && value < 1e9) printf "%.9g%s", value, details }' "$TMP/client")
	[ -n "$words" ] || return
	read -r FIGURE DETAILS <<<"$words"
}

# patiently KEY FUNCTION ARGUMENTS: repeat a void run up to four times; the status is not 0 if all
# were void. A KEY that timed out once, or was carried by another device, is not tried again.
declare -A hopeless
patiently() {
	local try key=$1 rc
	shift
	for ((try = 0; try < 5; try++)); do
		[ -z "${hopeless[$key]:-}" ] || return 1
		rc=0
		"$@" || rc=$?
		((rc)) || return 0
		case $rc in
		124 | 137) hopeless[$key]=$(why $rc) ;;
		"$ANOTHER") hopeless[$key]="another device with this address carried it" ;;
		*) continue ;;
		esac
		echo "fact void:${key// /,} ${hopeless[$key]}"
	done
	return 1
}

# keep_pace KEY KIND VERB BYTES VALUE: set pace[KEY] from VALUE, in GB/s, microseconds or million
# messages per second
keep_pace() {
	pace[$1]=$(awk -v kind="$2" -v verb="$3" -v bytes="$4" -v v="$5" 'BEGIN {
		ns = kind == "lat" ? v * (verb == "read" ? 1000 : 2000) : kind == "rate" ? 1000 / v : bytes / v
		print ns < 1 ? 1 : int(ns) }')
}

# paced ONCE KEY VERB KIND BYTES QUEUES: a run by the function ONCE that lasts RUN_MS, or at least
# half of it. The first run of a KEY is preceded by shorter ones, which measure its pace and warm up.
paced() {
	local once=$1 key=$2 verb=$3 kind=$4 bytes=$5 queues=$6 run_ms=$RUN_MS n most=$((64 / $6)) i busy
	FIGURE=- DETAILS=''
	# CPU time is counted in ticks, and the cost of starting is subtracted below.
	[[ $kind != *cpu ]] || run_ms=$((RUN_MS * 3))
	((bytes < 500000)) || most=5
	[ -z "${pace[$key]:-}" ] || most=100000000
	for ((i = 0; i < ${TRIES_OF_PACE:-6}; i++)); do
		n=$(messages "${pace[$key]:-1}" "$run_ms" "$queues" $most)
		patiently "$key" "$once" "$verb" "$kind" "$bytes" "$queues" "$n" || { FIGURE=-; return 1; }
		keep_pace "$key" "$kind" "$verb" "$bytes" "$FIGURE"
		((n * queues * pace[$key] / 500000 < run_ms)) || break
		# The pace of few messages is a poor estimate, so raise the number step by step.
		most=$((n * 50))
	done
	[[ $kind == *cpu ]] || return 0
	DETAILS="GBs=$FIGURE" busy=$BUSY
	patiently "$key" "$once" "$verb" "$kind" "$bytes" "$queues" 5 || { FIGURE=-; return 1; }
	FIGURE=$(awk -v ms=$((busy - BUSY)) -v bytes="$bytes" -v n=$(((n - 5) * queues)) \
		'BEGIN { if (ms > 0 && n > 0) printf "%.6g", ms / 1000 / (bytes * n / 1e9); else print "-" }')
}
figure_of_device() { perftest_once "$device" "$@"; }
# perftest_figure DEVICE VERB KIND BYTES [QUEUES]: sets FIGURE (GB/s, microseconds, million messages
# per second, or CPU seconds per GB; "-" if it is void) and DETAILS.
perftest_figure() {
	local device=$1
	paced figure_of_device "${CONDITION:-}$*" "$2" "$3" "$4" "${5:-1}"
}

# turns REPEATS ROWS COLUMN...: measure each row on every column in turn, REPEATS times, so that a
# disturbance affects all columns alike; each round begins with another column. The function
# `measure ROW COLUMN' sets FIGURE and DETAILS; its status is 2 if the column has no such row. The
# function `round_begins' may measure what figures of the same round are compared with.
round_begins() { :; }
turns() {
	local repeats=$1 rows=$2 round turn=0 row i column
	shift 2
	for ((round = 0; round < repeats; round++)); do
		turn=$round
		round_begins
		for row in $rows; do
			for ((i = 0; i < $#; i++)); do
				column=$(((i + turn) % $# + 1))
				column=${!column}
				FIGURE=- DETAILS=''
				measure "$row" "$column"
				(($? != 2)) || continue
				echo "figure $row $column $FIGURE${DETAILS:+ $DETAILS}"
			done
			turn=$((turn + 1))
		done
	done
}

# facts DEVICE...: print facts about this bed that a reader of the figures needs
facts() {
	local dev netdev
	echo "fact kernel $(uname -r)"
	echo "fact processors $(nproc)"
	echo "fact perftest $(ib_write_bw --version 2>/dev/null | sed -n 's/.*[Vv]ersion: *//p' | head -n 1)"
	for dev; do
		[ -d "/sys/class/infiniband/$dev" ] || continue
		netdev=$(cat "/sys/class/infiniband/$dev/ports/1/gid_attrs/ndevs/0" 2>/dev/null)
		echo "fact $dev $(is_iwarp "$dev" && echo "iWARP, connected by rdma_cm" || echo "RoCE, connected by a socket"), MTU of $netdev $(cat "/sys/class/net/$netdev/mtu" 2>/dev/null)"
	done
}
