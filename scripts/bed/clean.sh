# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Records which sources a check has found clean, so that it need not read them again. A record
# (mark) is a file in the cache. Its name has the check, its tools and options, and a checksum of
# the sources. Only clean sources get a mark, so complaints are repeated. scripts/bed/prune removes
# marks that were not used for 30 days. Sourced by style and style-user, after lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154

clean=$CACHE/clean
marks=()

# Makes the marks that unread() or all_clean() has prepared. Call it if the check found nothing.
# Errors are ignored: the cache may be read-only.
found_clean() {
	((${#marks[@]} == 0)) || { mkdir -p "${marks[0]%/*}" && touch -- "${marks[@]}"; } 2>/dev/null || :
}

# unread CHECK HOW... < FILES: sets $unread to those of FILES (one per line) that have no mark, and
# prepares found_clean(). HOW: tools and options. For checks that read each file by itself.
unread() {
	local folder known=() sum file mark
	folder=$clean/$1-$(key "${@:2}" </dev/null)
	marks=()
	unread=()
	while read -r sum file; do
		# The result may depend on the path, so it is part of the name.
		mark=$folder/${file//\//+}.${sum:0:24}
		if [ -z "${PINION_READ_ALL:-}" ] && [ -e "$mark" ]; then
			known+=("$mark")
		else
			unread+=("$file")
			marks+=("$mark")
		fi
	done < <(xargs -d '\n' -r sha256sum --)
	((${#known[@]} + ${#unread[@]})) || die "$1: there is no file to read"
	((${#known[@]} == 0)) || touch -c -- "${known[@]}" 2>/dev/null || :
}

# all_clean CHECK HOW... < FILES: succeeds if FILES together have a mark; prepares found_clean().
# For checks in which files depend on each other.
all_clean() {
	marks=("$clean/$1/$(xargs -d '\n' -r sha256sum -- | key "${@:2}")")
	[ -z "${PINION_READ_ALL:-}" ] && [ -e "${marks[0]}" ] || return
	touch -c -- "${marks[0]}" 2>/dev/null || :
}
