# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034
# Functions of the scripts in this folder, in addition to scripts/bed/lib.sh: whether and how a
# user can create a machine.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../../../scripts/bed/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

# An ordinary user becomes root in a namespace with his subordinate ids.
owner=()
[ "$(id -u)" = 0 ] || owner=(--map-root-user --map-auto)

# Files of those ids can be removed only as root in such a namespace.
in_namespace() {
	if ((${#owner[@]})); then unshare "${owner[@]}" "$@"; else "$@"; fi
}
rm_rf() { in_namespace rm -rf --one-file-system "$@"; }

# why_not: prints in one line why this machine cannot make others; nothing if it can.
why_not() {
	if ! command -v mmdebstrap >/dev/null; then
		echo "mmdebstrap is not installed"
	elif ((${#owner[@]})) && ! command -v newuidmap >/dev/null; then
		echo "newuidmap is not installed (package uidmap)"
	elif ! unshare "${owner[@]}" --mount --pid --fork mount -t tmpfs none /mnt 2>/dev/null; then
		if ((${#owner[@]})); then
			echo "no user namespaces, or no range of ids in /etc/subuid, for $(id -un)"
		else
			echo "root may not mount here"
		fi
	fi
}
