# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Shared by the scripts: the cache, functions that make an artefact once and find it again, and
# functions that show the progress of long work and end it.
# shellcheck shell=bash disable=SC2034

BED=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$BED/../.." && pwd)
# Scripts and what they start go to other folders.
[[ ${PINION_CACHE:-/} == /* ]] || export PINION_CACHE=$PWD/$PINION_CACHE
CACHE=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}
JOBS=${JOBS:-$(nproc)}
. "${BASH_SOURCE%/*}/machine.sh"
# An ordinary user's PATH has no depmod, and the umask may make files unreadable for guests.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
umask 022

# On a terminal, each progress line replaces the one before.
START='' END=$'\n'
if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then START=$'\r\e[K' END=''; fi
say() { printf '%s%s: %s\n' "$START" "${0##*/}" "$*" >&2; }
# The reason is also written to $PINION_WHY, from which together() repeats it.
die() {
	say "$*"
	[ -z "${PINION_WHY:-}" ] || printf '%s: %s\n' "${0##*/}" "$*" >"$PINION_WHY"
	exit "${die_status:-1}"
}

# The header comment of a script is its help.
usage() { sed -n '/^# shellcheck/d; 3,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# Prints the version of the tree.
tree_version() { sed -n 's/.*PINION_VERSION "\(.*\)"/\1/p' "$TOP/include/pinion/version.h"; }

# Prints the name of the module of a source folder.
module_name() { if [ -d "$1/kernel/path" ]; then echo pinion; else basename "$1"; fi; }

# Ends the progress line, so that it stays.
next_line() { [ -z "$START" ] || echo >&2; }

# key WORD... < MATERIAL: print a checksum of both, which names an artefact that is made from them.
key() { { printf '%s\n' "$@"; cat; } | sha256sum | cut -c1-16; }

# make does not work in a folder with blanks or colons in its path. Then the script restarts itself
# in a copy of the tree.
if [[ $TOP$CACHE == *[[:space:]:]* ]]; then . "$BED/place.sh"; fi

# ------------------------------------------------------------------------ long work

# at_exit COMMAND: run it when this shell exits, for whatever reason. A subshell runs only its own
# commands, when the subshell exits.
at_exit_commands=
at_exit_shell=
at_exit() {
	[ "$at_exit_shell" = $BASHPID ] || at_exit_commands=
	at_exit_shell=$BASHPID
	at_exit_commands+="$1; "
	trap 'eval "$at_exit_commands" 2>/dev/null || :' EXIT
}
not_at_exit() { at_exit_commands=${at_exit_commands/"$1; "/}; }

# Print a progress line every few seconds, until the script has ended. Waits by reading from a pipe
# that stays empty, because a child like sleep would outlive it. LINES_EXPECTED: the final length of
# LOG, if known.
tick() { # WHAT LOG
	local start=$SECONDS pipe pause=5 lines
	[ -n "$START" ] || pause=15
	exec {pipe}<> <(:)
	while kill -0 $$ 2>/dev/null; do
		read -rt $pause -u "$pipe" || :
		lines=$(wc -l <"$2")
		if [ -n "${LINES_EXPECTED:-}" ]; then
			lines=$((lines * 100 / LINES_EXPECTED))
			lines="$((lines < 99 ? lines : 99)) %"
		else
			lines+=" lines of output"
		fi
		printf '%s%s: %s: %ds, %s%s' "$START" "${0##*/}" "$1" $((SECONDS - start)) "$lines" "$END" >&2
	done
}

# progress WHAT LOG COMMAND...: run COMMAND with its output in LOG and a line on
# the screen every few seconds; on failure show the end of the log.
progress() {
	local what=$1 log=$2 start=$SECONDS ticker rc=0 why errexit=+e
	shift 2
	[[ $- != *e* ]] || errexit=-e
	{ mkdir -p "$(dirname "$log")" && : >"$log"; } 2>/dev/null ||
		die "cannot write $log; set PINION_CACHE to a folder of yours"
	say "$what ..."
	tick "$what" "$log" </dev/null &
	ticker=$!
	at_exit "kill $ticker"
	# In the foreground, so that ^C reaches it.
	set +e
	(set -e; "$@") >"$log" 2>&1 </dev/null
	rc=$?
	set $errexit
	kill $ticker 2>/dev/null
	wait $ticker 2>/dev/null || :
	# The pid of the ticker may be reused.
	not_at_exit "kill $ticker"
	if ((rc)); then
		printf %s "$START" >&2
		tail -n 15 "$log" >&2
		# Take the first error of the last try: it may have caused the others.
		why=$(awk '/ failed \(exit [0-9]*\), again in / { why = "" }
			why == "" && /(^|: )(E|[Ee]rror|fatal error):? / { why = $0 } END { print why }' "$log")
		[ -n "$why" ] || why=$(tail -n 1 "$log")
		die "$what failed after $((SECONDS - start))s${why:+: ${why:0:200}}; all of it is in $log"
	fi
	say "$what: done in $((SECONDS - start))s"
}

# end_groups PGID...: end process groups that this script has started, and wait until they are
# empty. By SIGKILL in the end, because some processes ignore SIGTERM, such as the first one of a
# root.
end_groups() {
	local g i n left
	for i in TERM TERM TERM KILL; do
		for g; do kill -$i -- "-$g" 2>/dev/null || :; done
		for ((n = 0; n < 20; n++)); do
			left=
			for g; do ! kill -0 -- "-$g" 2>/dev/null || left=1; done
			[ -n "$left" ] || break 2
			sleep 0.1
		done
	done
	wait 2>/dev/null || :
}

# together COMMAND...: run them in parallel; each is a function, or one and its arguments. If one
# fails or this script is stopped, end the others with all processes that they have started: each
# command has its own process group.
together() {
	local groups=() f
	local -A unfinished=()
	local rc=0 ended
	PINION_WHY=$(mktemp)
	export PINION_WHY
	together_end() {
		end_groups "${groups[@]}"
		rm -f "$PINION_WHY"
	}
	# At ^C keep the progress line.
	trap 'together_end; next_line; exit 130' INT
	trap 'together_end; exit 143' TERM HUP
	set -m
	for f; do
		# shellcheck disable=SC2086 # the words of the command
		(trap - EXIT; $f) </dev/null &
		groups+=($!)
		unfinished[$!]=1
	done
	set +m
	while ((${#unfinished[@]} && !rc)); do
		wait -n -p ended "${!unfinished[@]}" || rc=$?
		unset "unfinished[$ended]"
	done
	if ((rc)); then
		f=$(cat "$PINION_WHY")
		together_end
		say "stopped: ${f:-exit status $rc}"
		exit "${die_status:-1}"
	fi
	rm -f "$PINION_WHY"
	unset PINION_WHY
	trap - INT TERM HUP
}

# Errors of a mirror that may not occur at the next try.
TRANSIENT='timed out|Connection reset|Hash Sum mismatch|unexpected size|Mirror sync|  (429|50[0234])  '

# patiently COMMAND...: run a command that uses a mirror, up to three times if the errors are
# transient. Each try is a subshell with `set -e'.
patiently() {
	local pause rc words errexit=+e
	[[ $- != *e* ]] || errexit=-e
	words=$(mktemp)
	at_exit "rm -f $words"
	for pause in 5 20 ''; do
		set +e
		(set -e; "$@") 2>&1 | tee "$words"
		rc=${PIPESTATUS[0]}
		set $errexit
		((rc)) && [ -n "$pause" ] && grep -qaE "$TRANSIENT" "$words" || break
		say "$1 failed (exit $rc), again in ${pause}s"
		sleep "$pause"
	done
	rm -f "$words"
	not_at_exit "rm -f $words"
	return "$rc"
}

# refresh COMMAND...: apt-get update, again without treating a missing index as an error if it
# fails.
refresh() { patiently "$@" -o APT::Update::Error-Mode=any update || "$@" update; }

# About how many MB each kind of artefact takes while it is made.
declare -A room=([linux-source]=1000 [uml-plain]=350 [uml-checked]=500 [uml-kasan]=800 [uml-kcsan]=500 [x86-kasan]=1100
	[root-small]=1100 [root-deb-bookworm]=900 [root-deb-trixie]=1000 [root-deb-forky]=1100
	[deb-kernel-bookworm]=350 [deb-kernel-trixie]=350 [deb-kernel-forky]=350
	[root-bookworm]=1200 [root-trixie]=2600 [root-forky]=1700 [bpftrace]=250 [hpcc]=150 [tshark]=300)

# room_for KIND...: print how many MB those take that do not exist yet.
room_for() {
	local kind sum=0
	for kind; do compgen -G "$CACHE/$kind/*/recipe" >/dev/null || sum=$((sum + ${room[$kind]})); done
	echo $sum
}

# cached KIND KEY LINK FUNCTION: print $CACHE/KIND/KEY. If it does not exist, FUNCTION DIR makes it,
# in a folder with another name that is renamed when it is complete. A lock keeps two scripts from
# making it at the same time. FUNCTION may continue in an unfinished folder. current/LINK is set to
# the result. A failing step of FUNCTION must end the script, else an incomplete folder would be
# renamed. A command substitution clears `set -e', so it is set again here. To the left of && or ||
# it has no effect; then cached fails without making anything.
cached() {
	local kind=$1 k=$2 link=$3 fn=$4 dir lock lost
	set -e
	printf -v lost %s "$(set -e; false; echo lost)"
	[ -z "$lost" ] || die "$kind is to be made where no failure would be seen"
	dir=$CACHE/$kind/$k
	if [ ! -d "$dir" ]; then
		{ mkdir -p "$CACHE/$kind" "$CACHE/current" && [ -w "$CACHE/$kind" ]; } 2>/dev/null ||
			die "cannot write to the cache $CACHE; set PINION_CACHE"
		exec {lock}>"$CACHE/$kind/$k.lock"
		flock -n "$lock" || {
			say "$kind is being made by another run, waiting"
			flock "$lock"
		}
		if [ ! -d "$dir" ]; then
			machine_has_room "${room[$kind]:-50}" "$CACHE"
			mkdir -p "$dir.part"
			"$fn" "$dir.part" "$lock" >&2
			mv "$dir.part" "$dir"
		fi
		exec {lock}>&-
	fi
	# Ignore errors: it may be another user's cache, which is read-only.
	if [ "$(readlink "$CACHE/current/$link")" != "$dir" ]; then
		{ mkdir -p "$CACHE/current" && ln -sfnT "$dir" "$CACHE/current/$link"; } 2>/dev/null || :
	fi
	printf '%s\n' "$dir"
}

# cached_or_none: the same for an optional artefact: prints an empty line if it cannot be made.
cached_or_none() { printf '%s\n' "$(PINION_WHY='' && cached "$@")"; }

# current LINK RECIPE UPDATE: print the target of current/LINK if it was made by RECIPE and UPDATE
# is empty. So no mirror is needed if all artefacts exist.
current() {
	local dir
	[ -z "$3" ] && dir=$(readlink -e "$CACHE/current/$1") &&
		[ "$(cat "$dir/recipe" 2>/dev/null)" = "$2" ] && printf '%s\n' "$dir"
}

# remade DIR RECIPE FUNCTION: print DIR, a folder in this tree. FUNCTION fills it anew unless it was
# made by RECIPE.
remade() {
	local out=$1 recipe=$2 fn=$3
	mkdir -p "$out"
	exec 9>"$out.lock"
	flock 9
	if [ "$(cat "$out/recipe" 2>/dev/null)" != "$recipe" ]; then
		rm -rf "${out:?}"
		mkdir -p "$out"
		"$fn"
		printf '%s\n' "$recipe" >"$out/recipe"
	fi
	printf '%s\n' "$out"
}

# Prints the Debian mirror that this machine uses already, so that no other one has to be reachable.
mirror() {
	if [ -n "${PINION_MIRROR:-}" ]; then
		printf '%s\n' "$PINION_MIRROR"
		return
	fi
	local m
	m=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null |
		awk '$3 == "main" && $4 == "Debian" && $2 !~ /security/ { print $1; exit }')
	# If apt has no package lists yet, read its sources.
	[ -n "$m" ] || m=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
		/etc/apt/sources.list.d/*.sources 2>/dev/null |
		sed -n 's/^deb \(\[[^]]*\] \)\?\(https\?:[^ ]*debian\/\?\) .*/\2/p; s/^URIs: *\([^ ]*debian\/\?\).*/\1/p' | head -n1)
	[ -n "$m" ] || die "no Debian mirror found in /etc/apt; set PINION_MIRROR"
	printf '%s\n' "${m%/}"
}

# apt_private SUITES...: set APT to options for an apt that uses SUITES only, and changes nothing in
# /etc/apt and /var/lib/apt.
apt_private() {
	local name d suite m
	name=$(printf '%s+' "$@")
	d=$CACHE/apt/${name%+}
	m=$(mirror)
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
	# Replace the file by mv, as another script may be reading it. Package lists of another
	# mirror are invalid.
	for suite; do
		printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$m" "$suite"
	done >"$d/sources.$BASHPID"
	cmp -s "$d/sources.$BASHPID" "$d/sources.list" || rm -f "$d/stamp"
	mv "$d/sources.$BASHPID" "$d/sources.list"
	APT=(-o Dir::Etc::sourcelist="$d/sources.list" -o Dir::Etc::sourceparts=-
		-o Dir::State::lists="$d/lists" -o Dir::Cache="$d/cache"
		-o Dir::State::status=/dev/null
		-o APT::Sandbox::User=root -o APT::Get::List-Cleanup=0 -o Acquire::Retries=0
		-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -q)
	# Read the package lists at most once in an hour.
	apt_private_fresh() { [ -n "$(find "$d/stamp" -mmin -60 2>/dev/null)" ]; }
	if ! apt_private_fresh; then
		if ! machine_is_online; then
			[ -e "$d/stamp" ] || die "this machine has no network, and packages of $* are to be fetched"
			return
		fi
		say "apt: reading the package lists of $*"
		(
			flock 9
			# Another script may have read them while this one waited for the lock.
			if apt_private_fresh; then
				:
			elif refresh apt-get "${APT[@]}" >"$d/log" 2>&1; then
				touch "$d/stamp"
			elif [ -e "$d/stamp" ]; then
				say "apt: there are none now, those of $(date -r "$d/stamp") will do"
			else
				die "there are no package lists of $* on $m: $(grep -aE '^(E|W): ' "$d/log" | head -n 1 | cut -c -200)"
			fi
		) 9>"$d/lock" || exit 1
	fi
}

# download_unpacked DIR SUITE PACKAGES...: unpack binary packages of that Debian release into DIR.
download_unpacked() {
	local dir=$1 suite=$2 deb
	shift 2
	apt_private "$suite"
	mkdir -p "$dir/deb"
	(cd "$dir/deb" && patiently apt-get "${APT[@]}" download "$@") || die "no $* to be had from $(mirror)"
	for deb in "$dir"/deb/*.deb; do dpkg -x "$deb" "$dir"; done
	rm -rf "$dir/deb"
}

# fetch_upstream DIR SUITE PACKAGE: unpack the upstream source of a package into DIR. Downloads only
# the upstream archive, because some mirrors lack the other files.
fetch_upstream() {
	local d=$1/apt APT
	mkdir -p "$d/lists/partial"
	printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
		"$(mirror)" "$2" >"$d/sources.list"
	APT=(-o Dir::Etc::sourcelist="$d/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$d/lists"
		-o Dir::State::status=/dev/null -o APT::Sandbox::User=root -qq)
	apt-get "${APT[@]}" update
	(cd "$d" && apt-get "${APT[@]}" source --download-only --tar-only "$3") ||
		die "no source of $3 to be had from $(mirror)"
	tar xf "$d/$3"_*.orig.tar.* -C "$1" --strip-components=1
	rm -rf "$d"
}

# apt_version PACKAGE: print the version that apt would install.
apt_version() { LC_ALL=C apt-cache "${APT[@]}" policy "$1" | sed -n 's/^ *Candidate: *//p'; }

# need GROUP PROGRAM...: install the packages of GROUP if a program is missing; die if it still is.
need() {
	local group=$1 t
	shift
	command -v "$@" >/dev/null && (($(command -v "$@" | wc -l) == $#)) || "$BED/packages" "$group" >&2
	for t; do command -v "$t" >/dev/null || die "$t is not installed; run scripts/bed/packages $group"; done
}
