# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# One figure out of one run of perftest between two processes of this bed.
. "$(dirname "${BASH_SOURCE[0]}")/../testing/lib.sh"

# How many messages: enough for half a second, so that the slow are not waited for.
# SHORT divides them.
iterations() { # DEVICE bw|lat|rate BYTES
	local n
	case $1-$2 in
	rxe*-lat) n=2000 ;;
	*-lat) n=20000 ;;
	rxe*-rate) n=3200 ;;
	*-rate) n=640000 ;;
	rxe*) n=$(($3 > 500000 ? 30 : 200)) ;;
	*) n=$(($3 > 500000 ? 8000 : 40000)) ;;
	esac
	echo $((n / ${SHORT:-1}))
}

# figure DEVICE VERB KIND BYTES: GB/s, microseconds or million messages a second.
# A void run is repeated; "-" after five of them. Where the server is elsewhere, FAR_DEV is its
# device, NEAR_ADDR the client's address, FAR_IN and NEAR_IN are what their commands begin with, and
# FAR_MORE is what only the server's has at its end.
figure() {
	local dev=$1 kind=$3 bytes=$4 try value cmd tool=ib_$2_bw ready far=${FAR_DEV:-$1} near_gid='' far_gid=''
	[ "$kind" != lat ] || tool=ib_$2_lat
	for ((try = 0; try < 5; try++)); do
		port=$((port + 1))
		ready=tcp:$port
		cmd="-p $port -F -s $bytes -n $(iterations "$dev" "$kind" "$bytes") ${MORE:-}"
		[ "$kind" != rate ] || cmd+=" -l 32"
		# iWARP connects by rdma_cm only.
		case $dev in
		siw*) cmd+=" -R"; ready=cm:$port ;;
		*)
			far_gid="-x $(gid_index "$far" "$ADDR")"
			near_gid="-x $(gid_index "$dev" "${NEAR_ADDR:-$ADDR}")"
			;;
		esac
		both "$ready" "${FAR_IN:-} $tool -d $far $far_gid $cmd ${FAR_MORE:-}" "${NEAR_IN:-} $tool -d $dev $near_gid $cmd $ADDR" || continue
		value=$(awk -v kind="$kind" '$1 ~ /^[0-9]+$/ && NF >= 5 {
			v = kind == "lat" ? $5 : kind == "rate" ? $5 : $4 * 1.048576 / 1000
			if (v > 0 && v < 1e9) printf "%.9g", v }' "$TMP/client")
		[ -z "$value" ] || { echo "$value"; return; }
	done
	echo -
}
