# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# What every suite shares: KTAP lines, one command or a server and its client as
# a test, waiting for a server. Runs inside a bed.
# In: DEV the device under test (default: the first), QUICK=1 for fewer tests,
# SLOW=N to multiply every time limit, UNTIL=N to skip what would begin N seconds after 1970.
set -u

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PROGRAMS=${PROGRAMS:-$HERE/../../build/testing}
# Where hostile/cover_fuzz finds what earlier runs have kept.
export CORPUS=${CORPUS:-$HERE/fuzz/corpus}
QUICK=${QUICK:-}
SLOW=${SLOW:-1}
ADDR=${ADDR:-10.0.0.1}
ADDR6=${ADDR6:-fd00:0::1}

if [ -z "${DEV:-}" ]; then
	for DEV in /sys/class/infiniband/*; do break; done
	DEV=${DEV##*/}
fi

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
tests=0
failures=0
# shellcheck disable=SC2034 # of suites
port=20000

# What is looked at again and again is read by the shell itself: in a guest with checkers each
# process takes tens of milliseconds.

# pause SECONDS: sleep without a process; nothing is ever written into that pipe.
exec {nothing}<> <(:)
pause() { read -rt "$1" -u "$nothing" || :; }

# gid_index DEVICE ADDRESS: the entry of its GID table that is this IPv4 address
# as RoCE v2.
gid_index() {
	local i dir=/sys/class/infiniband/$1/ports/1 want is
	# shellcheck disable=SC2086 # four numbers
	printf -v want '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' ${2//./ }
	# By number: of the names' order, 3 comes after 255, 29 and some two hundred others.
	for ((i = 0; ; i++)); do
		[ -e "$dir/gids/$i" ] || break
		{ read -r is <"$dir/gids/$i"; } 2>/dev/null && [ "$is" = "$want" ] || continue
		{ read -r is <"$dir/gid_attrs/types/$i"; } 2>/dev/null && [ "$is" = "RoCE v2" ] || continue
		echo "$i"
		return
	done
	echo 1
}
GID=${GID:-$(gid_index "$DEV" "$ADDR")}

have() { command -v "$1" >/dev/null; }

# Whom dma-bufs come from that move and fail. Whoever does not say where it is goes without; where it is
# to be, tests that would be fewer without it must not pass.
exporter() {
	[ -n "${EXPORTER:-}" ] && [ ! -e /dev/pinion_exporter ] || return 0
	insmod "$EXPORTER" || not_ok exporter "it cannot be loaded: $EXPORTER"
}

# The kernel user of verbs, without its own tests.
kverbs() {
	local all=/sys/module/kunit/parameters/filter_glob was rc=0
	[ -e "${KVERBS:=}" ] && [ ! -e /sys/kernel/debug/kverbs ] || return 0
	modprobe -q kunit
	read -r was <$all
	printf %s none >$all && insmod "$KVERBS" || rc=1
	[ "$was" != '(null)' ] || was='*'
	printf %s "$was" >$all
	return $rc
}

# $PROGRAMS with these only, where any user may begin them: a tree may be in a home that others
# cannot enter, and tests become others.
for_everybody() { # PROGRAM...
	local program to=$TMP/programs
	for program; do
		mkdir -p "$(dirname "$to/$program")" && cp "$PROGRAMS/$program" "$to/$program" || return
	done
	chmod -R a+rX "$to" && chmod a+x "$TMP" && PROGRAMS=$to
}

# Swap space, and a file system that writes pages back, on RAM disks where there are such.
files_on_disk() {
	modprobe -q brd rd_nr=2 rd_size=262144
	if [ -b /dev/ram1 ] && mkfs.ext4 -q /dev/ram1 && mount /dev/ram1 /mnt; then
		export TEST_FILES=/mnt
	fi
}

# mark TEXT: writes a line to the guest's kernel log, to show to which test the lines around it belong:
# the name of a test that takes a while, when it begins, and `NAME: ended' for each result. The programs
# do the former for each of theirs (lib/harness.c). Without a bed it would be this machine's log.
KMSG=/dev/kmsg
mark() {
	[ -z "${BED:-}" ] || [ ! -w "$KMSG" ] || printf 'test: %s: %s\n' "${0##*/}" "$1" >>"$KMSG"
}

ok() { # NAME
	mark "$*: ended"
	printf 'ok %d %s\n' $((++tests)) "$*"
}
skip() { # NAME WHY
	local name=$1
	shift
	mark "$name: ended"
	printf 'ok %d %s # SKIP %s\n' $((++tests)) "$name" "$*"
}
not_ok() { # NAME [WHY]
	local name=$1
	shift
	mark "$name: ended"
	printf 'not ok %d %s%s\n' $((++tests)) "$name" "${*:+ # $*}"
	failures=$((failures + 1))
}
# A run may have a limit; what would begin after it is skipped. scripts/check knows the words.
too_late() { # NAME
	((${UNTIL:-0} && EPOCHSECONDS >= UNTIL)) || return 1
	skip "$1" "the time of the run is over"
}
# What the reader of a failure wants to see comes before its line.
# shellcheck disable=SC2120
# The last line may have no end, and what follows is a line of its own.
show() { awk '{ print "# " $0 }' "$@"; }

finish() {
	printf '1..%d\n' $tests
	exit $((failures > 0))
}

# limited COMMAND...: run it, for at most $LIMIT seconds: many times what it takes, on a
# machine that stands still now and then.
STDIN=/dev/null
LIMIT=${LIMIT:-60}
# With FOREGROUND=--foreground the command stays in its caller's process group, so whoever kills that
# group kills it, too; but when its time is over only the command itself is killed. Without, timeout(1)
# makes a group for it, and kills all in that.
limited() { timeout ${FOREGROUND:-} -k 5 $((LIMIT * SLOW)) "$@"; }

# in_time FUNCTION...: run a function for at most three times $LIMIT, as each step in it has its own
# limit, and says more when that is over. It runs in a shell of its own, whose variables are lost. What
# it has begun is killed when it ends; a process that cannot be killed is not waited for.
in_time() {
	local pid i rc=0 FOREGROUND=--foreground
	set -m
	"$@" </dev/null &
	pid=$!
	set +m
	for ((i = 0; i < 3 * LIMIT * SLOW * 20; i++)); do
		kill -0 $pid 2>/dev/null || { wait $pid || rc=$?; kill -9 -- -$pid 2>/dev/null; return $rc; }
		pause 0.05
	done
	kill -9 -- -$pid
	return 124
}

VOID=75
why() { # STATUS
	case $1 in
	"$VOID") echo "void figures" ;;
	124 | 137) echo "no end after $((LIMIT * SLOW))s" ;;
	*) echo "exit status $1" ;;
	esac
}

# check NAME FUNCTION [ARGUMENTS]: one test, passed if the function returns 0; else the last
# $LINES_SHOWN lines that it said are shown.
check() {
	local name=$1 rc=0
	shift
	mark "$name"
	"$@" >"$TMP/check" 2>&1 </dev/null || rc=$?
	if ((rc)); then
		tail -n "${LINES_SHOWN:-25}" "$TMP/check" | show
		not_ok "$name" "$(why $rc)"
	else
		ok "$name"
	fi
}

# run NAME COMMAND...: one test, passed if COMMAND exits with 0.
run() {
	local name=$1 rc=0
	shift
	! too_late "$name" || return 0
	mark "$name"
	limited "$@" >"$TMP/out" 2>&1 </dev/null || rc=$?
	if ((rc)); then
		echo "# $*"
		tail -n 25 "$TMP/out" | show
		not_ok "$name" "$(why $rc)"
		return 1
	fi
	ok "$name"
}

# refused NAME COMMAND...: passed if COMMAND fails, but by itself.
refused() {
	local name=$1 rc=0
	shift
	! too_late "$name" || return 0
	mark "$name"
	limited "$@" >"$TMP/out" 2>&1 </dev/null || rc=$?
	if ((rc == 0 || rc >= 124)); then
		echo "# $*"
		tail -n 25 "$TMP/out" | show
		not_ok "$name" "should have been refused: $(why $rc)"
		return 1
	fi
	ok "$name"
}

# ktap PROGRAM ARGUMENTS: its own KTAP lines, under our numbering and its name (or
# $NAME), with $AS before it, as they come: a guest that dies has told who did it.
ktap() {
	local name=${AS:-}${NAME:-${1##*/}} rc='' seen=0 bad=0 planned='' line number what
	! too_late "$name" || return 0
	while IFS= read -r line; do
		case $line in
		"ok "* | "not ok "*)
			read -r number what <<<"${line#*ok }"
			seen=$((seen + 1))
			tests=$((tests + 1))
			[[ $line == ok* ]] || bad=$((bad + 1))
			printf '%sok %d %s.%s\n' "${line%%ok "$number"*}" $tests "$name" "$what"
			;;
		1..*) planned=${line#1..} ;;
		"KTAP version"* | "") ;;
		"$STATUS"*) rc=${line#"$STATUS"} ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done < <(LIMIT=300 limited "$@" 2>&1 </dev/null; printf '\n%s%d\n' "$STATUS" $?)
	failures=$((failures + bad))
	if ((seen != ${planned:-0})); then
		not_ok "$name" "ended early: $seen of ${planned:-?} tests, $(why "$rc")"
	elif ((!seen)); then
		not_ok "$name" "it has told of no test, $(why "$rc")"
	elif ((rc != (bad > 0))); then
		not_ok "$name" "all its tests reported, but $(why "$rc")"
	fi
}
STATUS='status of the program: '

# Before programs that let each allocation fail: when that of DMA debugging's own list does,
# it goes off for good and says so, once. So they come last.
dma_debugging_may_end() {
	[ ! -e /proc/self/fail-nth ] ||
		echo 'box: expect 1 DMA-API: cacheline tracking ENOMEM, dma-debug disabled' >/dev/kmsg
}

# by_valgrind: the programs of FOLDER once more but those in $NATIVE, with each byte that is
# read before it is written and each address that is not theirs as a failure. It sees nothing
# of the kernel, so one bed is enough; and devices that go are the kernel's.
NATIVE=' unplug '
VALGRIND=(valgrind -q --trace-children=yes --error-exitcode=99)
by_valgrind() { # FOLDER [OPTIONS]
	local program n=0
	for program in "$1"/*; do
		[ -f "$program" ] && [ -x "$program" ] && [[ $NATIVE != *" ${program##*/} "* ]] || continue
		n=$((n + 1))
		AS=valgrind. NAME=${program##*/} SLOW=20 ktap "${VALGRIND[@]}" "$program" --device "$DEV" "${@:2}"
	done
	((n)) || not_ok valgrind "there are no programs in $1"
}
# Programs of the libraries run under valgrind, too? That takes ten times as long, so not in a short run.
with_valgrind() { [ -z "$QUICK" ] && [ -z "$(no_valgrind)" ]; }
no_valgrind() { # says why not
	have valgrind || { echo "no valgrind here"; return; }
	((SLOW == 1)) || echo "elsewhere, where it is faster"
}

tcp_listens() { # PORT
	local file port own state
	printf -v port %04X "$1"
	for file in /proc/net/tcp /proc/net/tcp6; do
		[ -r "$file" ] || continue
		while read -r _ own _ state _; do
			[[ $own != *:"$port" || $state != 0A ]] || return 0
		done <"$file"
	done
	return 1
}
cm_listens() { # PORT
	rdma resource show cm_id 2>/dev/null | grep -q "state LISTEN .*:$1 "
}

# ready HOW PID: wait until the server PID listens. HOW: tcp:PORT or cm:PORT.
ready() {
	local i how=$1
	case $how in
	tcp:*) how=tcp_listens ;;
	cm:*) how=cm_listens ;;
	*) echo "no way to wait for a server: $how"; return 1 ;;
	esac
	for ((i = 0; i < 1000 * SLOW; i++)); do
		kill -0 "$2" 2>/dev/null || return 1
		! "$how" "${1#*:}" || return 0
		pause 0.05
	done
	return 1
}

# await COMMAND...: until it succeeds, but not for ever.
await() {
	local i
	for ((i = 0; i < 300 * SLOW; i++)); do
		! "$@" || return 0
		pause 0.1
	done
	return 1
}

# end PID: give it a moment, then end it; the status is its own.
end() {
	local i
	for ((i = 0; i < 200 * SLOW; i++)); do
		kill -0 "$1" 2>/dev/null || break
		pause 0.05
	done
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# both READY SERVER CLIENT: run the two shell words lists SERVER and CLIENT against
# each other; the status is the first that is not 0. $TMP/server and $TMP/client
# keep what they said. STAYS=1: a server that does not end is as it should be.
both() {
	local rc=0 src=0 pid
	# Unquoted: lists of words. With exec, as who is ended must be the server, not a shell
	# that leaves it behind.
	# shellcheck disable=SC2086
	(exec timeout ${FOREGROUND:-} -k 5 $((LIMIT * SLOW)) $2) >"$TMP/server" 2>&1 <"$STDIN" &
	pid=$!
	ready "$1" $pid || { end $pid; rc=$?; return $((rc ? rc : 1)); }
	# shellcheck disable=SC2086
	limited $3 >"$TMP/client" 2>&1 <"$STDIN" || rc=$?
	if ((rc)); then
		end $pid
	elif [ -n "${STAYS:-}" ]; then
		kill $pid
		wait $pid 2>/dev/null
	else
		wait $pid || src=$?
	fi
	return $((rc ? rc : src))
}

# show_both SERVER CLIENT: what these commands have said last
show_both() {
	printf '# server: %s\n' "$1"
	tail -n 12 "$TMP/server" | show
	printf '# client: %s\n' "$2"
	tail -n 12 "$TMP/client" | show
}

# pair NAME READY SERVER CLIENT [CHECK]: one test of a server and its client;
# CHECK is a function that may still find fault with what they said. TRIES=N is for
# programs that now and then fail by themselves in a known way: SPOILT is a function that
# recognises it by $rc, $TMP/server and $TMP/client, and says what it is. Each such run is
# told, with what both have said, as one_of() in lib/harness.c does, and scripts/check counts them.
pair() {
	local rc try spoilt
	! too_late "$1" || return 0
	mark "$1"
	for ((try = 1; ; try++)); do
		rc=0
		: >"$TMP/server"
		: >"$TMP/client"
		both "$2" "$3" "$4" || rc=$?
		if ((rc == 0)) && [ -n "${5:-}" ]; then "$5" || rc=$?; fi
		((rc && try < ${TRIES:-1})) && spoilt=$("$SPOILT") || break
		show_both "$3" "$4"
		echo "# tried again: $1: $spoilt"
	done
	if ((rc)); then
		show_both "$3" "$4"
		not_ok "$1" "$(why $rc)"
		return 1
	fi
	ok "$1"
}

# Both ends of rping, in $SERVER and $CLIENT if these say where. Its own threads may hang in
# tearing down after all is done, on any device: the client has seen all its data come back, and
# the server that the client has gone.
ping() { # NAME PORT ADDRESS COUNT [OPTIONS]
	local cmd="stdbuf -oL rping -a $3 -p $2 -C $4 -v -V ${*:5}"
	have rping || { skip "$1" "no rping in this root"; return; }
	COUNT=$4 LIMIT=15 TRIES=3 SPOILT=ping_hung_in_the_end pair "$1" "cm:$2" "${SERVER:-} $cmd -s" "${CLIENT:-} $cmd -c"
}
ping_hung_in_the_end() {
	((rc == 124 || rc == 137)) && (($(grep -c '^ping data:' "$TMP/client") == COUNT)) &&
		! grep -q mismatch "$TMP/client" && grep -q 'server DISCONNECT EVENT' "$TMP/server" &&
		echo "rping hung after all its data were right and it was disconnected"
}

# says FILE PATTERN PID: wait until PID has said so there.
says() {
	local i
	for ((i = 0; i < 600 * SLOW; i++)); do
		! grep -qi "$2" "$1" || return 0
		kill -0 "$3" 2>/dev/null || return 1
		pause 0.05
	done
	return 1
}
# groups NAME GROUP ADDRESS-OF-MEMBER ADDRESS-OF-SENDER: multicast by address, with $SERVER and
# $CLIENT as in ping()
groups() {
	local pid rc=0
	have mckey || { skip "$1" "no mckey in this root"; return; }
	mark "$1"
	: >"$TMP/server"
	# shellcheck disable=SC2086 # words
	limited ${SERVER:-} stdbuf -oL mckey -m "$2" -b "$3" -C 10 >"$TMP/server" 2>&1 </dev/null &
	pid=$!
	# It is not ready when it listens, but when it has joined.
	# shellcheck disable=SC2086
	says "$TMP/server" joined $pid && limited ${CLIENT:-} mckey -m "$2" -b "$4" -C 10 -s >"$TMP/client" 2>&1 || rc=1
	end $pid || rc=1
	if ((rc)); then
		show "$TMP/server" "$TMP/client"
		not_ok "$1" "the receiver did not get every message"
	else
		ok "$1"
	fi
}

# A CHECK of perftest: the client has a line of figures, one of them above 0.00. Where its
# own calibration of the clock has failed, as on a busy machine it does every tenth time, it
# says so, and they mean nothing.
figure() {
	awk '/^ *[0-9]+ +[0-9]+ / { line = 1; for (i = 3; i <= NF; i++) if ($i + 0 > 0) good = 1 }
		/Correlation coefficient/ { good = 1 }
		END { exit !(line && good) }' "$TMP/client" || return $VOID
}

# mtu_as_told FILE TEST COMMAND: whether perftest, which has said FILE, uses the path MTU that its command asks
# for (-m). It takes a smaller one if a port has none as large, and its exit status does not show that. A test
# that has an MTU in its name asks for it; others do not.
mtu_as_told() {
	local wanted='' asked=''
	[[ $2- =~ -(256|512|1024|2048|4096)- ]] && wanted=${BASH_REMATCH[1]}
	[[ " ${*:3} " =~ ' -m '([0-9]+)' ' ]] && asked=${BASH_REMATCH[1]}
	[ "$wanted" = "$asked" ] || return
	[ -z "$wanted" ] || grep -Eq "^ *Mtu *: $wanted\[B\]" "$1"
}

# A manual page without the marks of troff, and the commands below its EXAMPLES, one a line.
page_plain() { sed 's/\\-/-/g; s/\\f[A-Z]//g; s/\\(dq/"/g' "$1"; } # FILE
page_examples() { page_plain "$1" | sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/{/^\.nf/,/^\.fi/{/^\./!p}}'; } # FILE
