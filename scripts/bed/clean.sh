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
unread() { unread_of "$@" < <(xargs -d '\n' -r sha256sum --); }
# unread_of: the same with lines `CHECKSUM FILE'
unread_of() {
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
	done
	((${#known[@]} + ${#unread[@]})) || die "$1: there is no file to read"
	((${#known[@]} == 0)) || touch -c -- "${known[@]}" 2>/dev/null || :
}

# with_includes FILE... < FILES: prints `CHECKSUM FILE' for each FILE, of it and of all FILES that it
# may include: those with a name that some #include line ends in, and so on. $sourced, if set, is a
# list of those of FILES that others may read, being scripts: whoever has their name somewhere.
with_includes() {
	local file files
	mapfile -t files
	for file; do printf '%s\n' "$file"; done | sourced=${sourced:-} awk '
		BEGIN {
			n = split(ENVIRON["sourced"], list, "\n")
			for (i = 1; i <= n; i++) {
				name = list[i]
				sub(/.*\//, "", name)
				named[name] = named[name] "\n" list[i]
				names[name]
			}
		}
		FNR == NR { wanted[++count] = $0; next }
		n {
			for (name in names)
				if (index($0, name) && !used[FILENAME, name]++) uses[FILENAME] = uses[FILENAME] "\n" name
			next
		}
		FILENAME != last { last = FILENAME; name = FILENAME; sub(/.*\//, "", name); named[name] = named[name] "\n" FILENAME }
		/^[ \t]*#[ \t]*include/ && match($0, /["<][^">]*[">]/) {
			name = substr($0, RSTART + 1, RLENGTH - 2)
			sub(/.*\//, "", name)
			uses[FILENAME] = uses[FILENAME] "\n" name
		}
		function reach(file, names, files, i, j, n, m) {
			if (seen[file]++) return
			print wanted[w] "\t" file
			n = split(substr(uses[file], 2), names, "\n")
			for (i = 1; i <= n; i++) {
				m = split(substr(named[names[i]], 2), files, "\n")
				for (j = 1; j <= m; j++) reach(files[j])
			}
		}
		END {
			for (w = 1; w <= count; w++) { delete seen; reach(wanted[w]) }
		}' - "${files[@]}" |
		awk -F '\t' 'FNR == NR { split($0, word, " "); sum[substr($0, 67)] = word[1]; next }
			$1 != last { last = $1; print "" $1 }
			{ print "\t" sum[$2] " " $2 }' <(sha256sum -- "${files[@]}") - |
		{
			file='' text=''
			while IFS= read -r line || [ -n "$file" ]; do
				if [[ $line == $'\t'* ]]; then
					text+=$line
					continue
				fi
				[ -z "$file" ] || printf '%s %s\n' "$(key <<<"$text")" "$file"
				file=$line text=''
			done
		}
}

# all_clean CHECK HOW... < FILES: succeeds if FILES together have a mark; prepares found_clean().
# For checks in which files depend on each other.
all_clean() {
	marks=("$clean/$1/$(xargs -d '\n' -r sha256sum -- | key "${@:2}")")
	[ -z "${PINION_READ_ALL:-}" ] && [ -e "${marks[0]}" ] || return
	touch -c -- "${marks[0]}" 2>/dev/null || :
}
