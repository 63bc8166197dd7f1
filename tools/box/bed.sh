# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Shared by pinion-box and scripts/qemu: options, the job folder the guest reads,
# and the end of a run. In: $BOX the name, $self, $tree (empty when installed).
# shellcheck shell=bash disable=SC2034,SC2154

fail() {
	printf '%s: %s\n' "$BOX" "$*" >&2
	exit 123
}

usage() { sed -n '/^# shellcheck/d; 3,/^[^#]/s/^# \{0,1\}//p' "$self"; }

# Prints the version: of the tree, or if installed, from a file beside this one.
version() {
	if [ -n "$tree" ]; then
		sed -n 's/.*PINION_VERSION "\(.*\)"/\1/p' "$tree/include/pinion/version.h"
	else
		cat "${self%/bin/*}/lib/pinion/box/version"
	fi
}

devices=1
netns=0
# Which of our roots it is, by name, and whether what is for it is to be built.
ours=
builds=
with=
links=1
device=1
param=
module=
kunit=
rw=()
ro=()
cwd=$PWD
as_user=
timeout=
peers=()
log=
gcov=
hugepages=0
command=()
given=()

# Longer limits for reports of hangs: a busy host may stall the guest for half a minute.
PATIENCE="watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 workqueue.watchdog_thresh=120"
PATIENCE+=" sysctl.kernel.hung_task_timeout_secs=120"
# Do not limit the rate of messages from user space: tests write their names to the log.
PATIENCE+=" printk.devkmsg=on"

# Overridden by scripts that have further options: handles one, and sets $took to the number of
# words it used, or to 0.
own_option() { took=0; }

parse() {
	local took
	while (($#)); do
		own_option "$@"
		if ((took)); then
			shift "$took"
			continue
		fi
		case $1 in
		-h | --help) usage; exit 0 ;;
		--version) printf '%s %s\n' "$BOX" "$(version)"; exit 0 ;;
		-v | --verbose) verbose=1; shift; continue ;;
		--no-link) links=0; shift; continue ;;
		--no-device) device=; shift; continue ;;
		--kunit) kunit=1; links=0; device=; shift; continue ;;
		--user) as_user=1; shift; continue ;;
		--) shift; break ;;
		-*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
		-*) (($# > 1)) || fail "$1 wants a value, or is unknown; see --help" ;;
		*) break ;;
		esac
		case $1 in
		--devices) devices=$2 ;;
		--netns) netns=$2 ;;
		--with) with=${2//,/ } ;;
		--param) param=$2 ;;
		--module-dir) module=$2 ;;
		--provider) provider=$2 ;;
		--rw) rw+=("$2") ;;
		--ro) ro+=("$2") ;;
		--root) root=$2 ;;
		--cwd) cwd=$2 ;;
		--flavour | --flavor) flavour=$2 ;;
		--cpus) cpus=$2 ;;
		--mem) mem=$2 ;;
		--append) append+=" $2" ;;
		--timeout) timeout=$2 ;;
		--log) log=$2 ;;
		--gcov) gcov=$2 ;;
		*) fail "unknown option $1; see --help" ;;
		esac
		shift 2
	done
	given=("$@")
	command=("$@")
	local n
	for n in devices netns cpus timeout hugepages; do
		[[ ${!n} =~ ^[0-9]*$ ]] || fail "--$n: \`${!n}' is not a number"
	done
	((cpus >= 1 && cpus <= 8)) || fail "--cpus: 1 to 8"
	((netns == 0 || devices > 0)) || fail "--netns needs a device"
	if [ -n "$kunit" ]; then
		command=(/bin/sh /run/box/lib/kunit.sh)
	elif ((${#command[@]} == 0)); then
		command=("${SHELL:-/bin/sh}")
		[ "$root" = / ] || command=(/bin/sh)
		[ ! -t 0 ] || timeout=${timeout:-0}
	fi
	timeout=${timeout:-600}
}

# Sets $root to a folder, which is made if --root is one of our names.
find_root() {
	[ "$root" != / ] || ours=host
	if [ -n "$tree" ] && [[ $root == bookworm || $root == trixie || $root == forky || $root == small ]]; then
		ours=$root
		root=$("$tree/scripts/bed/root" "$ours") || exit 123
	fi
	root=$(readlink -e "$root") || fail "--root: no such folder"
	[ -d "$root" ] || fail "--root $root: not a folder"
}

# Sets $lib to the folder with the helper programs of the box.
helpers() {
	if [ -z "$tree" ]; then
		lib=$(readlink -f "${self%/bin/*}/lib/pinion/box")
		return
	fi
	lib=$("$tree/scripts/bed/box") || exit 123
}

# Prints the folder of the UML kernel of a flavour, with linux and mod/.
find_kernel() {
	local d
	if [ -n "${PINION_BOX_KERNEL:-}" ]; then
		d=$PINION_BOX_KERNEL
	elif [ -n "$tree" ]; then
		case $1 in plain | checked | kasan | kcsan) ;; *) fail "--flavour: plain, checked, kasan or kcsan" ;; esac
		d=$("$tree/scripts/bed/kernel-uml" "$1") || exit 123
	else
		d=$lib/uml-$1
	fi
	[ -x "$d/linux" ] || fail "no kernel at $d/linux; \`make install-box' puts it there, or set PINION_BOX_KERNEL"
	readlink -f "$d"
}

# find_module TARGET KERNEL: sets $module to the folder of pinion.ko, or "". In the source tree it is
# built, unless somebody else says where it is, or has brought the kernel.
find_module() {
	if [ -z "$device$kunit" ]; then
		module=
		return
	fi
	if [ -z "$module" ]; then
		if [ -z "$tree" ]; then
			module=$2
		elif [ -n "${PINION_BOX_KERNEL:-}" ]; then
			module=$tree/build/$1
		else
			# Standard input is the command's.
			module=$("$tree/scripts/bed/module-build" "$1" </dev/null) || exit 123
			builds=1
		fi
	fi
	local ko=pinion.ko
	[ -z "$kunit" ] || ko=pinion_kunit.ko
	[ -e "$module/$ko" ] || {
		if [ -n "$tree" ]; then
			fail "no $ko in $module: run scripts/bed/module-build $1, or say --module-dir or --no-device"
		fi
		fail "no $ko in $module: say --module-dir or --no-device"
	}
	module=$(readlink -f "$module")
}

# If the root has no provider, sets $provider to the one that came with the installed pinion-box for
# the root's version of libibverbs. Like find_provider.
carried_provider() {
	local f version='' driver=$root/etc/libibverbs.d/pinion.driver
	[ ! -e "$driver" ] && [ ! -L "$driver" ] && [ -d "$lib/provider" ] || return 0
	for f in "$root"/usr/lib/*/libibverbs.so.1 "$root"/usr/lib64/libibverbs.so.1; do
		[ -n "$version" ] || version=$(readlink "$f") || :
	done
	[ -n "$version" ] || return 0
	# Its name ends in the version of rdma-core: libibverbs.so.1.14.56.1
	version=${version##*.so.}
	version=${version#*.*.}
	for f in "$lib/provider/$version"/libpinion-rdmav*.so; do
		if [ -e "$f" ]; then
			provider=${f%-rdmav*}
		elif [ "$links" != 0 ]; then
			printf '%s: no provider for rdma-core %s, only for %s: programs will not see the device; %s\n' "$BOX" \
				"$version" "$(cd "$lib/provider" && echo *)" "install the pinion-box of this release" >&2
		fi
	done
}

# Builds the provider where the module was built, too. For this machine's files that may install packages,
# and ask first.
build_provider() {
	case ${builds:+$ours} in
	'') ;;
	host) "$tree/scripts/bed/provider-build" host >/dev/null ;;
	*) "$tree/scripts/bed/provider-build" "$ours" </dev/null >/dev/null ;;
	esac
}

# Sets $provider to the path for a .driver file of libibverbs, which has no version suffix; to ""
# if the root's own provider is to be used.
find_provider() {
	local so
	if [ -z "$provider" ]; then
		[ -n "$device" ] || return 0
		if [ -z "$tree" ]; then
			carried_provider
			return
		fi
		provider=$tree/build/lib-$(root_name)
		if ! build_provider || ! ls "$provider"/libpinion-rdmav*.so >/dev/null 2>&1; then
			[ -e "$root/etc/libibverbs.d/pinion.driver" ] || [ "$links" = 0 ] || printf \
				'%s: no provider for this root in %s: ibverbs will not see the device; run scripts/bed/provider-build %s\n' \
				"$BOX" "$provider" "$(root_name)" >&2
			provider=
			return 0
		fi
	fi
	provider=$(readlink -f "$provider") || fail "--provider: nothing there"
	if [ -d "$provider" ]; then
		so=$(find "$provider" -name 'libpinion-rdmav*.so' -print -quit)
		[ -n "$so" ] || fail "no libpinion-rdmav*.so in $provider; run scripts/bed/provider-build $(root_name)"
	else
		so=$provider
	fi
	provider=${so%-rdmav*}
}

# Prints the NAME of build/lib-NAME for the root.
root_name() {
	[ "$root" != / ] || { echo host; return; }
	# Read the file itself: /etc/os-release is a link, which would be followed on this machine.
	sed -n 's/^VERSION_CODENAME=//p' "$root/usr/lib/os-release"
}

conf() { printf '%s=%s\0' "$1" "$2" >>"$job/conf"; }

# Makes the job folder, which tells the guest what to do.
make_job() {
	local d seen
	job=$(mktemp -d "${TMPDIR:-/tmp}/pinion-box.XXXXXX")
	trap 'rm -rf "$job"' EXIT

	printf '%s\0' "${command[@]}" >"$job/argv"
	if [ "$root" = / ]; then
		env -0 -u _ >"$job/env"
	else
		env -0 -u _ -u LD_LIBRARY_PATH -u PYTHONPATH >"$job/env"
	fi
	[[ $PATH == */usr/sbin* && $root = / ]] ||
		{ grep -zv '^PATH=' "$job/env" || :; } >"$job/env.new"
	if [ -e "$job/env.new" ]; then
		printf 'PATH=%s/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\0' \
			"$([ "$root" != / ] || printf '%s:' "$PATH")" >>"$job/env.new"
		mv "$job/env.new" "$job/env"
	fi
	# Programs can tell by this variable that they run in a box.
	printf 'PINION_BOX=%s\0' "$BOX" >>"$job/env"

	printf '%s\0' BOX_DEVICES="$devices" BOX_NETNS="$netns" BOX_WITH="$with" \
		BOX_MODULE="${device:+$module}" BOX_LINKS="$links" BOX_PARAM="$param" \
		BOX_PROVIDER="$provider" BOX_HUGEPAGES="$hugepages" >"$job/setup.env"

	: >"$job/conf"
	if [ -n "$as_user" ]; then
		conf uid "$(id -u)"
		conf gid "$(id -g)"
		conf groups "$(id -G)"
	fi
	if [ -t 0 ] && [ -t 1 ]; then conf tty 1; fi
	conf mhz "$(awk '/^cpu MHz/ { print $4; exit }' /proc/cpuinfo)"
	cwd=$(readlink -e "$cwd") || fail "--cwd: no such folder"
	conf cwd "$cwd"

	# Another root has none of this machine's folders: show the current one, the tree, the
	# provider.
	if [ "$root" != / ]; then
		[ "$cwd" = / ] || conf cw "$cwd"
		[ -z "$tree" ] || case $cwd/ in "$tree"/*) ;; *) conf cw "$tree" ;; esac
		[ -z "$tree" ] || case $cwd/ in "$tree"/?*) conf cw "$tree" ;; esac
		[ -z "$provider" ] || case $provider in "${tree:-/none}"/*) ;; *) conf cw "${provider%/*}" ;; esac
	fi
	for d in "${ro[@]}"; do
		seen=$(readlink -e "$d") || fail "--ro $d: no such path"
		conf cw "$seen"
	done
	for d in "${rw[@]}"; do
		seen=$(readlink -e "$d") || fail "--rw $d: no such path"
		conf rw "$seen"
	done
	conf ro "$lib	/run/box/lib"
	[ -z "$module" ] || conf ro "$module	/run/box/mod"
	if [ -n "$gcov" ]; then
		mkdir -p "$gcov"
		gcov=$(readlink -e "$gcov")
		conf rw "$gcov	/run/box/gcov"
	fi
}

# boot MACHINE...: run it to its end, and set $rc to its exit status. False if it has to be tried
# again: it died before it set up the devices, and there are tries left ($boots).
boot() {
	local guard=()
	: >"$job/console"
	((timeout == 0)) || guard=(timeout --foreground -k 5 $((timeout + 200)))
	# In the background, so that a signal for this script reaches the machine.
	"${guard[@]}" "$lib/box-host" -l "$job/console" -t "$timeout" -u "${BOX_UP:-60}" "${peers[@]}" -- "$@" <&0 &
	local pid=$!
	trap 'kill -TERM $pid 2>/dev/null' TERM HUP
	trap : INT
	while :; do
		rc=0
		wait $pid || rc=$?
		kill -0 $pid 2>/dev/null || break
	done
	trap - TERM HUP INT
	((rc != 123 || --boots == 0)) || grep -qa 'box: setting up the devices' "$job/console"
}

# keep_console: copy the console of a boot that does not count to the first free of BOX_TRIES.try1,
# BOX_TRIES.try2, ..., which scripts/check counts, or else to one beside the file of --log. Prints where
# it is; if it is nowhere, its end.
keep_console() {
	local file n
	for ((n = 1; n < 100; n++)); do
		file=${BOX_TRIES:-$log}.try$n
		[ "$file" != ".try$n" ] || break
		# Other machines of the same run may keep one at the same time, so the name is taken first.
		(set -C && : >"$file") 2>/dev/null || continue
		cat "$job/console" >"$file"
		printf '%s: its console is in %s\n' "$BOX" "$file" >&2
		return
	done
	printf '%s: the end of its console:\n' "$BOX" >&2
	tail -n 30 "$job/console" >&2
}

# run MACHINE...: run it, search its console for complaints, exit.
run() {
	local rc boots=${BOX_BOOTS:-1} verdict=0 emulated=()
	until boot "$@"; do
		printf '%s: the machine died before it ran anything, once more\n' "$BOX" >&2
		keep_console
	done
	# Ignore what follows when the time is up: the guest logs its tasks, and does not clean up.
	sed '/box: the command.s time is up/,$d' "$job/console" >"$job/judged"
	[ -z "$log" ] || cp "$job/console" "$log"
	# An emulated processor may run into a breakpoint that was removed. BOX_BOOTS is set for
	# these.
	((${BOX_BOOTS:-1} == 1)) || emulated=(--emulated)
	"$lib/console-scan" "${emulated[@]}" "$job/judged" >"$job/found" || verdict=$?
	if ((verdict == 3)); then
		grep -aE -A 12 'int3: 0000 \[#1\]' "$job/console" >&2 || :
		printf '%s: the emulator ran code that was no longer there\n' "$BOX" >&2
		exit 122
	fi
	# The command itself may exit with such a status (xargs with 123): then the box did not
	# fail.
	local of_box=$rc
	! grep -qa "box: the command ended with $rc\$" "$job/console" || of_box=
	case $of_box in
	123)
		if ! grep -qa 'box: setting up the devices failed, and that was said' "$job/console"; then
			printf '%s: the box failed; the end of its console:\n' "$BOX" >&2
			tail -n 30 "$job/console" >&2
		fi
		;;
	124)
		printf '%s: %s: still running after %ss, ended; who waited where:\n' "$BOX" "${command[0]}" "$timeout" >&2
		awk '/box: the command.s time is up/ { shown = 150 } shown-- > 0' "$job/console" >&2
		;;
	esac
	if ((verdict)); then
		printf '%s: the kernel complained (the command'\''s exit status was %s):\n' "$BOX" "$rc" >&2
		cat "$job/found" >&2
		rc=125
	elif [ -s "$job/found" ]; then
		# As a KTAP comment, because this may be the output of a suite.
		sed "s/^/# $BOX: /" "$job/found" >&2
	fi
	[ -z "$verbose" ] || printf '%s: %s.%03ds in all, %s\n' "$BOX" \
		$(((${EPOCHREALTIME/./} - start) / 1000000)) $(((${EPOCHREALTIME/./} - start) / 1000 % 1000)) \
		"$(sed -n 's/.*box: \(up after [0-9.]*\).*/the command started \1s of kernel time/p' "$job/console" | head -n1)" >&2
	exit $rc
}
