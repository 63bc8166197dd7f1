# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2153,SC2154
# The part of `enter' that runs inside, as the first process in new namespaces: creates the
# machine in $MACHINE/mnt, changes into it, and runs a command. Environment: what enter exports.
set -Eeuo pipefail

fail() { printf 'enter: %s\n' "$*" >&2; exit 122; }
trap 'fail "line $LINENO of machine.sh failed"' ERR
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
root=$MACHINE/mnt

# over LOWER NAME AT: mounts LOWER at AT (several with colons between: the first one that has a
# file counts); what is written there goes to $MACHINE/NAME.
over() {
	local upper=$MACHINE/$2/new work=$MACHINE/$2/work copy=$MACHINE/$2/copy o
	rm -rf "$work"
	mkdir -p "$upper" "$work" "$3"
	if [ ! -d "$copy" ]; then
		# Volatile: unmounting does not wait until the data of the whole machine are on
		# disk. The kernel requires the second option of an ordinary user.
		for o in ,volatile ,volatile,userxattr; do
			! mount -t overlay overlay -o "lowerdir=$1,upperdir=$upper,workdir=$work$o" "$3" 2>/dev/null ||
				return 0
		done
		[[ $1 != *:* ]] || fail "no overlay file system, so no --from"
		cp -a --reflink=auto "$1" "$copy.part"
		mv "$copy.part" "$copy"
	fi
	mount --bind "$copy" "$3"
}

devices() {
	local n
	mount -t tmpfs -o mode=755 dev "$root/dev"
	for n in null zero full random urandom tty console; do
		[ -e "/dev/$n" ] || continue
		touch "$root/dev/$n"
		mount --bind "/dev/$n" "$root/dev/$n"
	done
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
	mount -t tmpfs -o "mode=1777${CONTAINER:+,size=64m}" shm "$root/dev/shm"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%:*}" "$root/dev/${n#*:}"; done
}

kernel_files() {
	local f
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount -o remount,bind,ro "$root/sys"
	[ -n "$CONTAINER" ] || return 0
	for f in bus fs irq sys sysrq-trigger; do
		[ -e "$root/proc/$f" ] || continue
		mount --bind "$root/proc/$f" "$root/proc/$f"
		mount -o remount,bind,ro "$root/proc/$f"
	done
	for f in kcore keys timer_list latency_stats sched_debug; do
		[ ! -e "$root/proc/$f" ] || mount --bind /dev/null "$root/proc/$f"
	done
}

cache() {
	local kind
	[ -n "$BARE_CACHE" ] || return 0
	if [ "$BARE_CACHE" = shared ]; then
		over "$CACHE" cache "$root$CACHE"
	else
		mkdir -p "$root$CACHE"
		mount --bind "$BARE_CACHE" "$root$CACHE"
		for kind in $SHARED; do
			[ ! -d "$CACHE/$kind" ] || over "$CACHE/$kind" "share-$kind" "$root$CACHE/$kind"
		done
	fi
	# The files belong to their user as if he had made them; roots and kernels are only read.
	# Other files are written by him anyway.
	[ -n "$ROOT_" ] || {
		find "$root$CACHE" -maxdepth 1
		find "$root$CACHE"/*/ -maxdepth 1 ! -type d
		find "$root$CACHE"/{apt,log,rdma-core} 2>/dev/null || :
	} | xargs -rd '\n' chown -h --reference="$root$home"
	# All parent folders are accessible, and readable as QEMU needs.
	(cd "$root" && IFS=/ && d=. && for n in ${CACHE#/}; do d+=/$n && chmod a+rx "$d"; done)
}

users() {
	[ ! -e "${FROM:-$MACHINE}/users" ] || return 0
	cp /etc/resolv.conf "$root/etc/"
	cp /etc/hosts "$root/etc/"
	apt-config dump 2>/dev/null | grep -i '^Acquire::https\?::Proxy' >"$root/etc/apt/apt.conf.d/proxy" || :
	chroot "$root" useradd --create-home --shell /bin/bash joe
	if [ -z "$SUDO" ]; then
		rm -f "$root/usr/bin/sudo"
	else
		echo 'joe ALL=(ALL:ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/joe"
	fi
	touch "$MACHINE/users"
}

# A fresh clone, with uncommitted changes, which are to be tested, too.
tree() {
	local at=$root$TO
	[ ! -e "$at" ] || return 0
	(
		umask "$UMASK"
		export HOME=$MACHINE
		printf '[safe]\n\tdirectory = *\n' >"$HOME/.gitconfig"
		mkdir -p "${at%/*}"
		git clone -q --no-hardlinks "$TREE" "$at"
		cd "$TREE"
		git ls-files -z --deleted | (cd "$at" && xargs -0r rm -f)
		git ls-files -z -mo --exclude-standard | xargs -0r ls -d 2>/dev/null |
			tar c -T - | (cd "$at" && tar x --no-same-permissions)
		rm "$HOME/.gitconfig"
	)
	# Including the parent folders below home.
	[[ $TO != "$home"/* ]] || at=$root$home
	chown -R --reference="$root$home" "$at"
}

show() {
	mkdir -p "$root$SHOW"
	mount --bind "$SHOW" "$root$SHOW"
	mount -o remount,bind,ro "$root$SHOW"
}

user=joe home=/home/joe path=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games
if [ -n "$ROOT_" ]; then user=root home=/root path=$PATH; fi
[ -z "$TREE" ] || : "${TO:=$home/pinion}"

over "${FROM:+$FROM/files/new:}$BARE_ROOT" files "$root"
devices
kernel_files
users
if [ -n "$NO_ROOM" ]; then
	mount -t tmpfs -o "size=$NO_ROOM,mode=755" room "$root$home"
	chroot "$root" chown "$user:" "$home"
fi
[ -z "$SMALL_TMP" ] || mount -t tmpfs -o "size=$SMALL_TMP,mode=1777" tmp "$root/tmp"
[ -z "$TREE" ] || tree
cache
[ -z "$ARCHIVES" ] || over "$ARCHIVES" archives "$root/var/cache/apt/archives"
[ -z "$SHOW" ] || show
ip link set lo up 2>/dev/null || :
[ -z "$FILTER" ] || exec {filter}<"$MACHINE/filter"

cd "$root"
pivot_root . mnt
umount -l /mnt
cd /
hash -r
[ -z "$PREPARE" ] || sh -c "$PREPARE" || fail "cannot prepare: $PREPARE"

# The environment of a login, and nothing else.
run=(env -i HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash PATH="$path" TERM="${TERM:-dumb}")
[ -z "$BARE_CACHE" ] || run+=("PINION_CACHE=$CACHE")
# The command reacts to interrupts, which background jobs of a script ignore.
run=(env "--default-signal=INT,QUIT" "${run[@]}")
if [ -n "$CONTAINER" ]; then
	caps=-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap
	caps+=,+net_bind_service,+sys_chroot,+kill,+audit_write
	run=(prlimit --memlock=65536:65536 setpriv "--bounding-set=$caps" "--inh-caps=-all" "${run[@]}")
fi
[ -n "$ROOT_" ] || run=(setpriv "--reuid=$user" "--regid=$user" --init-groups "${run[@]}")
[ -z "$FILTER" ] || run=("/proc/self/fd/$filter" "$FILTER" "${run[@]}")

umask "$UMASK"
cd "${TO:-$home}"
trap - ERR
rc=0
trap 'exit 143' TERM
"${run[@]}" "$@" <&0 &
wait $! || rc=$?

# left_over: sets $left to other processes that run. Not in a subshell, which would be one of
# them.
left_over() {
	local p words
	left=
	for p in /proc/[0-9]*; do
		[ "${p#/proc/}" != $$ ] && mapfile -d '' -t words 2>/dev/null <"$p/cmdline" || continue
		[ -z "${words[*]}" ] || left+="${words[*]:0:4}; "
	done
} 2>/dev/null
if [ -n "$ALONE" ]; then
	# Processes that were told to end may need a moment.
	for ((i = 0; i < 30; i++)); do
		left_over
		[ -n "$left" ] || break
		sleep 0.1
	done
	[ -z "$left" ] || { printf 'enter: left running: %s\n' "$left" >&2; rc=120; }
fi
exit $rc
