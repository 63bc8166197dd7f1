# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# What suites newcomer and newcomer-cold do alike: `make demo' on a machine made by `enter',
# and what has to be on the screen then.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
set +e
# shellcheck disable=SC2034 # of the suites
tree=$TOP
work=$(mktemp -d /var/tmp/pinion-newcomer.XXXXXX)
trap 'rm_rf "$work"; rm -rf "$TMP"' EXIT
LIMIT=900

# possible SUITE: make its bare root; without one, or root, all is skipped.
possible() {
	local why
	# An ordinary user's machine has no ids for the ordinary user in it, who makes roots.
	if [ "$(id -u)" != 0 ]; then
		skip all "only root can make a machine that has ordinary users with ids of their own"
		finish
	fi
	why=$("$HERE/root" "$1" 2>&1 >/dev/null)
	case $? in
	0) return ;;
	2) skip all "${why##*: }" ;;
	*) show <<<"$why"; not_ok "root-$1" ;;
	esac
	finish
}

# enter_ OPTIONS -- COMMAND: what it prints is in $TMP/out, how long it took in $took.
enter_() {
	local begin=$SECONDS rc=0
	# In our own process group, which is ended as one.
	timeout --foreground -k 5 $((LIMIT * SLOW)) "$HERE/enter" "$@" >"$TMP/out" 2>&1 </dev/null || rc=$?
	took=$((SECONDS - begin))
	return $rc
}

# In all of these, SETTING is a variable that is set there.
# demo NAME OPTIONS SUITE: one test, `make demo' to its end within $LIMIT seconds.
demo() {
	local name=$1 rc=0
	shift
	enter_ "$@" "$suite" -- env ${SETTING:+"$SETTING"} make demo || rc=$?
	if ((rc)); then
		tail -n 25 "$TMP/out" | show
		not_ok "$name" "$(why $rc)"
		return 1
	fi
	ok "$name in ${took}s"
}

# busy: does a thread on each processor have to share it with others?
busy() {
	local TIMEFORMAT='%R %U' i j
	for ((i = 0; i < JOBS; i++)); do
		{ time for ((j = 0; j < 100000; j++)); do :; done; } 2>&1 &
	done | awk '$1 > 1.25 * $2 { busy = 1 } END { exit !busy }'
}

# quick SECONDS NAME OPTIONS: `make demo' once more in so many seconds, on a machine that
# has nothing else to do.
quick() {
	local most=$1 name=$2 try
	shift 2
	for try in 1 2 3; do
		demo "$name-$try" "$@" || return
		((took > most)) || break
	done
	if ((took <= most)); then
		ok "$name is quick"
	elif busy; then
		skip "$name is quick" "${took}s, but this machine is busy"
	else
		not_ok "$name is quick" "${took}s, not $most"
	fi
}

# screen NAME: what the last demo printed is all there.
screen() {
	local missing=() what
	for what in 'hca_id: pinion0' PORT_ACTIVE 'on demand:.*SUPPORT' '  pinned ' '  device memory ' '  on demand ' \
		'  all of memory ' '0x[0-9a-f]* .*region'; do
		grep -q "$what" "$TMP/out" || missing+=("$what")
	done
	# A figure for each of the three devices. The peers' may be void: how well they do here is theirs.
	for what in 'write 64 KiB, GB/s' 'write 8 bytes, us'; do
		awk -v row="$what" 'index($0, row) { n = split(substr($0, index($0, row) + length(row)), f)
			good = n == 3 && f[1] + 0 > 0
			for (i = 2; i <= n; i++) if (f[i] + 0 <= 0 && f[i] != "void") good = 0 } END { exit !good }' "$TMP/out" ||
			missing+=("$what")
	done
	# What a shell has to say of our own scripts is no stranger's business.
	! grep -qE ': line [0-9]+: ' "$TMP/out" || missing+=("a screen without errors of a shell")
	if ((${#missing[@]})); then
		tail -n 60 "$TMP/out" | show
		not_ok "screen-$1" "not there: ${missing[*]}"
	else
		ok "screen-$1"
	fi
}

# refusal NAME PATTERN OPTIONS: `make demo', or $TARGET, ends at once, its last line says why;
# with $ONLY set, it is the only one.
refusal() {
	local name=$1 pattern=$2 rc=0 wrong='' last
	shift 2
	LIMIT=60 enter_ "$@" "$suite" -- env ${SETTING:+"$SETTING"} make "${TARGET:-demo}" || rc=$?
	last=$(grep -v '^make: \*\*\* ' "$TMP/out" | tail -n 1)
	if ((rc != 2)); then
		wrong="$(why $rc), not make's 2"
	elif ! grep -q "$pattern" <<<"$last"; then
		wrong="the last line is not that"
	elif [ "${ONLY:-}" ] && (($(grep -cvE '^make: \*\*\* |^scripts/demo$' "$TMP/out") > 1)); then
		wrong="it is not the only line"
	elif (($(grep -c "$pattern" "$TMP/out") > 1)) && [[ $last != *stopped:* ]]; then
		wrong="it is said twice"
	elif grep -q 'again in' "$TMP/out"; then
		wrong="it was tried again"
	fi
	if [ -n "$wrong" ]; then
		tail -n 25 "$TMP/out" | show
		not_ok "refusal-$name" "$wrong"
	else
		ok "refusal-$name"
	fi
}

# interrupted NAME OPTIONS: ^C on a terminal, once everything is under way, ends everything
# (--alone sees to it), and nothing that is half made looks whole. The machine is kept where
# OPTIONS say so.
interrupted() {
	local name=$1 rc=0
	shift
	# shellcheck disable=SC2016
	enter_ "$@" "$suite" -- env ${SETTING:+"$SETTING"} bash -c '
		export PINION_YES=1
		typed() {
			for ((i = 0; i < 600; i++)); do
				! grep -qE "(fetching|making|building) .*: [0-9]+s, " ~/screen 2>/dev/null || break
				sleep 0.1
			done
			printf "\003"
			sleep 5
		}
		typed | env --default-signal=INT script -qefc "make demo" ~/screen
		rc=$?
		cd "${PINION_CACHE:-$HOME/.cache/pinion}" && for d in linux-source/* uml-*/* root-*/*; do
			[ ! -d "$d" ] || [[ $d == *.part ]] || [ -e "$d/recipe" ] || { echo "$d is half made"; exit 1; }
		done
		grep -qE ": [0-9]+s, " ~/screen || { echo "nothing had begun"; exit 1; }
		((rc)) || { echo "^C, and the status is 0"; exit 1; }' || rc=$?
	if ((rc)); then
		tail -n 25 "$TMP/out" | tr -d '\r' | show
		not_ok "interrupted-$name" "$(why $rc)"
		return 1
	fi
	ok "interrupted-$name"
}
