# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Keeps the last build of something in the cache, so that another tree, such as a fresh clone,
# compiles only what differs. There is one folder for each name, $LAST/NAME, which the next build
# replaces:
#   what    a checksum of all that every object depends on
#   sums    `CHECKSUM FILE' of each source
#   source  the path of the tree
#   files/  what was built
# scripts/bed/prune removes those that were not used for 30 days. A cache that cannot be written
# does no harm. Sourced after lib.sh.
# shellcheck shell=bash

LAST=${PINION_LAST:-$CACHE/last}

# kept_changes SUMS: prints the sources that are not as they were: changed, new or gone.
kept_changes() {
	comm -3 <(sort "$kept/sums") <(sort <<<"$1") | tr -d '\t' | cut -d' ' -f3- | sort -u
}

# kept_rename OLD NEW FOLDER: OLD becomes NEW in all texts in FOLDER, where it is a path or begins one:
# /home/a is not in /home/ab, nor /a in /home/a, but in -I/a.
kept_rename() {
	local old new mark=$'\001' d=$'\002'
	old=$(sed 's/[][\.*^$]/\\&/g' <<<"$1")
	new=$(sed 's/[\&]/\\&/g' <<<"$2")
	# One by one, as what stands between two paths belongs to both.
	grep -rlIZF -e "$1" "$3" | xargs -0r sed -i -e ':next' \
		-e "s$d\(^\|-[IL]\|[^[:alnum:]./-]\)$old\([^[:alnum:]_.-]\|\$\)$d\1$mark\2$d" -e 't next' \
		-e "s$d$mark$d$new${d}g"
}

# kept_begin OUT: makes the folder, which is empty if the last build took what was kept and did not come
# to its end: what was to be compiled then is old and looks new.
kept_begin() {
	[ ! -e "$1/.taken" ] || rm -rf "${1:?}"
	mkdir -p "$1"
}

# kept_take NAME WHAT SUMS TREE OUT TIME: fills the folder OUT, which must be empty, with the last build,
# and sets $changed to the list of sources that have changed since. Fails if there is none, or of
# something else. All files get the age of TIME, just before the SUMS were made: newer than the
# sources that were read then, and older than any that is written later. The caller removes OUT/.taken
# when nothing in OUT is older than it looks.
kept_take() {
	local lock old='' kept=$LAST/$1
	{ exec {lock}<"$kept.lock"; } 2>/dev/null || return
	flock -s "$lock"
	if [ "$(cat "$kept/what" 2>/dev/null)" != "$2" ] || ! old=$(cat "$kept/source"); then
		exec {lock}<&-
		return 1
	fi
	# shellcheck disable=SC2034 # for the caller
	mapfile -t changed < <(kept_changes "$3")
	touch "$5/.taken"
	cp -r "$kept/files/." "$5/" || {
		rm -rf "${5:?}"
		mkdir "$5"
		exec {lock}<&-
		return 1
	}
	touch -c "$kept/what" 2>/dev/null || :
	exec {lock}<&-
	# The path of the tree is in the commands that kbuild compares, and without MO= in the lists of
	# objects that it links.
	[ "$old" = "$4" ] || kept_rename "$old" "$4" "$5"
	find "$5" -type f -exec touch -d "@$6" {} +
}

# kept_give NAME WHAT SUMS TREE OUT FIND-EXPRESSION...: keeps those files of OUT.
kept_give() {
	local lock kept=$LAST/$1 new
	{ mkdir -p "$LAST" && exec {lock}>>"$kept.lock"; } 2>/dev/null || return 0
	flock "$lock"
	if [ "$(cat "$kept/what" "$kept/sums" 2>/dev/null)" = "$2"$'\n'"$3" ]; then
		exec {lock}>&-
		return
	fi
	new=$kept.part
	rm -rf "$new"
	if mkdir -p "$new/files" && (cd "$5" && find . '(' "${@:6}" ')' -print0 | tar c --null -T - | tar x -C "$new/files") &&
		printf '%s\n' "$2" >"$new/what" && printf '%s\n' "$3" >"$new/sums" && printf '%s\n' "$4" >"$new/source"; then
		rm -rf "$kept"
		mv "$new" "$kept"
	else
		rm -rf "$new"
	fi 2>/dev/null
	exec {lock}>&-
}
