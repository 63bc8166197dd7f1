# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# lib.sh and bed.sh source this file if the path of the tree ($TOP) or of the cache contains
# blanks or colons, which make and a kernel's command line cannot handle. It updates a copy of
# the tree and restarts the running script there. What is built, in folders called build, stays in the
# copy.
# shellcheck shell=bash

place=${PINION_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion}
if [[ $place == *[[:space:]:]* ]]; then
	place=/var/tmp/pinion-$(id -u)
	[ -d "$place" ] || mkdir -m 700 "$place"
	[ -O "$place" ] || { echo "$place belongs to another user; set PINION_CACHE to a path without blanks" >&2; exit 1; }
	export PINION_CACHE=$place
fi
if [[ $TOP == *[[:space:]:]* ]]; then
	place=$place/trees/$(sha256sum <<<"$TOP" | cut -c1-12)
	mkdir -p "$place"
	(
		flock 9
		# Delete only what is gone from the tree: another script may be running in the copy.
		mapfile -d '' -t was < <(cd "$place" && find . -mindepth 1 -name build -prune -o -print0)
		for file in "${was[@]}"; do
			{ [ -e "$TOP/$file" ] || [ -L "$TOP/$file" ]; } &&
				{ [ ! -d "$place/$file" ] || [ -d "$TOP/$file" ]; } || rm -rf "${place:?}/$file"
		done
		tar c -C "$TOP" --exclude=build . | tar x -C "$place"
	) 9>"$place.lock"
	[ ! -t 2 ] || echo "${0##*/}: the path of this tree has blanks, so all is done in $place" >&2
	place=$place/$(realpath --relative-to="$TOP" "$0")
else
	place=$0
fi
exec "$place" "$@"
