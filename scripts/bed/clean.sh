# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What a check of the sources has read and found clean is not read again: a mark in the cache
# says so, named by the check, by what reads and how, and by the contents of what was read. Only
# what is clean is marked, so that whatever was found is found again. scripts/bed/prune removes marks
# that nobody has asked for in a month. Read by style and style-user, after lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154

clean=$CACHE/clean
marks=()

# Of no weight where the cache cannot be written.
found_clean() {
	((${#marks[@]} == 0)) || { mkdir -p "${marks[0]%/*}" && touch -- "${marks[@]}"; } 2>/dev/null || :
}

# unread CHECK HOW... < FILES: sets $unread to those of the FILES, one a line, that have no mark;
# found_clean() gives it to them. For a check that judges each file by itself.
unread() {
	local folder known=() sum file mark
	folder=$clean/$1-$(key "${@:2}" </dev/null)
	marks=()
	unread=()
	while read -r sum file; do
		# The path is part of what is judged.
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

# all_clean CHECK HOW... < FILES: whether these together have their mark, which found_clean() gives
# them. For a check in which one file may depend on any other.
all_clean() {
	marks=("$clean/$1/$(xargs -d '\n' -r sha256sum -- | key "${@:2}")")
	[ -z "${PINION_READ_ALL:-}" ] && [ -e "${marks[0]}" ] || return
	touch -c -- "${marks[0]}" 2>/dev/null || :
}
