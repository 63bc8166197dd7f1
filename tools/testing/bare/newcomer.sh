# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Shared by suites newcomer and newcomer-cold: `make demo' on a machine made by `enter', and the
# expected output.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
set +e
# shellcheck disable=SC2034 # of the suites
tree=$TOP
work=$(mktemp -d /var/tmp/pinion-newcomer.XXXXXX)
trap 'rm_rf "$work"; rm -rf "$TMP"' EXIT
LIMIT=900

# possible SUITE: makes its bare root; skips everything if that, or being root, is not possible.
possible() {
	local why
	# `make demo' needs user namespaces with subordinate ids inside; an ordinary user's
	# machine has none.
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

# enter_ OPTIONS -- COMMAND: its output is in $TMP/out, its duration in $took.
enter_() {
	local begin=$SECONDS rc=0
	# In our own process group, so that all ends together.
	timeout --foreground -k 5 $((LIMIT * SLOW)) "$HERE/enter" "$@" >"$TMP/out" 2>&1 </dev/null || rc=$?
	took=$((SECONDS - begin))
	return $rc
}

# All of these set the variable in SETTING on the machine. demo NAME OPTIONS SUITE: one test,
# `make demo' to its end within $LIMIT seconds.
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

# demo_again NAME OPTIONS: `make demo' again, which makes and fetches nothing. progress() announces
# such work with a line that ends in dots.
demo_again() {
	local name=$1
	demo "$@" || return
	if grep -E '^[a-z-]+: .* \.\.\.$' "$TMP/out" | show | grep .; then
		not_ok "$name makes nothing" "see above"
	else
		ok "$name makes nothing"
	fi
}

# screen NAME: the output of the last demo is complete.
screen() {
	local missing=() what
	for what in 'hca_id: pinion0' PORT_ACTIVE 'on demand:.*SUPPORT' '  pinned ' '  device memory ' '  on demand ' \
		'  all of memory ' '0x[0-9a-f]* .*region'; do
		grep -q "$what" "$TMP/out" || missing+=("$what")
	done
	# A figure for each of the three devices. Those of rxe and siw may be void.
	for what in 'write 64 KiB, GB/s' 'write 8 bytes, us'; do
		awk -v row="$what" 'index($0, row) { n = split(substr($0, index($0, row) + length(row)), f)
			good = n == 3 && f[1] + 0 > 0
			for (i = 2; i <= n; i++) if (f[i] + 0 <= 0 && f[i] != "void") good = 0 } END { exit !good }' "$TMP/out" ||
			missing+=("$what")
	done
	# No errors of a shell script are shown.
	! grep -qE ': line [0-9]+: ' "$TMP/out" || missing+=("a screen without errors of a shell")
	if ((${#missing[@]})); then
		tail -n 60 "$TMP/out" | show
		not_ok "screen-$1" "not there: ${missing[*]}"
	else
		ok "screen-$1"
	fi
}

# refusal NAME PATTERN OPTIONS: `make demo', or $TARGET, ends at once, and its last line says
# why; with $ONLY set, it is the only line.
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

# interrupted NAME OPTIONS: ^C on a terminal while all is running ends everything (--alone checks
# it), and unfinished artefacts are not taken for finished ones. The machine is kept if OPTIONS
# say so.
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
