# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Functions that fetch source packages by apt from the archives that this machine's packages
# come from: they turn its deb entries, with their keys and options, into deb-src entries.
# They use a private apt configuration below the cache, so any user can call them and they
# change nothing outside the cache. Source this file after lib.sh.
# shellcheck shell=bash

# REASON: why the last function failed, for a message of one line. FRESH: set when the indexes
# have just been read.
# shellcheck disable=SC2034 # used by scripts that source this file
REASON='' FRESH=''

# Prints the files in which this machine lists its sources of packages.
apt_own_files() {
	local list='' parts='' f
	eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	for f in "$list" "${parts%/}"/*.list "${parts%/}"/*.sources; do
		[ ! -f "$f" ] || [ ! -r "$f" ] || printf '%s\n' "$f"
	done
}

# one_line < FILE: the entries of a .list file as deb-src entries, without those of a CD-ROM.
one_line() {
	sed -nE 's/^[[:space:]]*deb(-src)?[[:space:]]+(\[[^]]*\][[:space:]]*)?/deb-src \2/p' |
		grep -vE '^deb-src (\[[^]]*\][[:space:]]*)?cdrom:' || :
}
# deb822 < FILE: the same for a .sources file.
deb822() {
	awk 'BEGIN { RS = ""; FS = OFS = "\n" } {
		stanza = ""
		types = 0
		for (i = 1; i <= NF; i++) {
			if ($i ~ /^#/) continue
			if (tolower($i) ~ /^types:/) { types = 1; $i = "Types: deb-src" }
			if (tolower($i) ~ /^uris:[ \t]*cdrom:/) next
			stanza = stanza $i "\n"
		}
		if (types) print stanza
	}'
}
# KIND_beside SUITES SUITE: only the entries of SUITES (a pattern), with SUITE in its place:
# another suite of the same archive, signed by the same key.
one_line_beside() {
	sed -nE "s/^(deb-src (\[[^]]*\][[:space:]]*)?[^[:space:]]+[[:space:]]+)($1)([[:space:]](.*[[:space:]])?main([[:space:]].*)?)\$/\1$2\4/p"
}
deb822_beside() {
	awk -v suites="^($1)\$" -v suite="$2" 'BEGIN { RS = ""; FS = OFS = "\n" } {
		stanza = ""
		found = main = 0
		field = ""
		for (i = 1; i <= NF; i++) {
			if ($i !~ /^[ \t]/) { field = tolower($i); sub(/:.*/, "", field) }
			n = split($i, word, /[ \t]+/)
			for (j = 1; j <= n; j++) {
				if (field == "suites" && word[j] ~ suites) found = 1
				if (field == "components" && word[j] == "main") main = 1
			}
			if (field != "suites") stanza = stanza $i "\n"
		}
		if (found && main) print stanza "Suites: " suite "\n"
	}'
}

# own_sources DIR [SUITES SUITE]: fill DIR with this machine's own entries; with SUITES, only
# those of SUITES, changed to SUITE.
own_sources() {
	local f n=0 kind
	while IFS= read -r f; do
		kind=one_line
		[[ $f == *.list ]] || kind=deb822
		n=$((n + 1))
		if (($# > 1)); then
			"$kind" <"$f" | "${kind}_beside" "$2" "$3"
		else
			"$kind" <"$f"
		fi >"$1/$n.${f##*.}"
	done < <(apt_own_files)
	find "$1" -type f -empty -delete
	# apt complains about duplicate entries.
	[ ! -e "$1/1.list" ] || cat "$1"/*.list | sort -u >"$1/all" && rm -f "$1"/*.list
	[ ! -e "$1/all" ] || mv "$1/all" "$1/all.list"
}

# mirror_sources DIR SUITE: fill DIR with the entry of a Debian mirror, if one is known.
mirror_sources() {
	local m
	m=$(PINION_WHY='' && mirror 2>/dev/null) || return 0
	printf 'deb-src [signed-by=%s] %s %s main\n' /usr/share/keyrings/debian-archive-keyring.gpg \
		"$m" "$2" >"$1/mirror.list"
}

# apt_sources FUNCTION ARGUMENTS...: set APT to the options of an apt that uses the entries
# which FUNCTION DIR ARGUMENTS writes to a folder. Reads no index yet. Fails if there is no
# entry.
apt_sources() {
	local fn=$1 new
	shift
	mkdir -p "$CACHE/apt" 2>/dev/null || die "cannot write to the cache $CACHE; set PINION_CACHE"
	new=$(mktemp -d "$CACHE/apt/new.XXXXXX")
	"$fn" "$new" "$@"
	if [ -z "$(ls "$new")" ]; then
		rmdir "$new"
		return 1
	fi
	APT_HOME=$CACHE/apt/sources-$(cat "$new"/* | key)
	if ! { mkdir "$APT_HOME" && mv "$new" "$APT_HOME/sources.list.d"; } 2>/dev/null; then rm -rf "$new"; fi
	mkdir -p "$APT_HOME"/lists/partial "$APT_HOME"/cache/archives/partial
	# apt reads this after the machine's own configuration, so its proxies and passwords
	# apply. Its hooks for updates concern its own lists and are removed.
	cat >"$APT_HOME/apt.conf" <<-X
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$APT_HOME/sources.list.d";
		Dir::State::lists "$APT_HOME/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$APT_HOME/cache";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::Retries "1";
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
	X
	FRESH=
	APT=(-c "$APT_HOME/apt.conf" -q)
}

# apt_refresh PLACE [again]: read the indexes, unless they were read within the last hour.
# Fails if one could not be read; the other indexes, or older copies, may still suffice.
apt_refresh() {
	local rc=0
	[ -n "${2:-}" ] || [ -z "$(find "$APT_HOME/stamp" -mmin -60 2>/dev/null)" ] || return 0
	FRESH=1
	say "reading the indexes of $1"
	exec 8>"$APT_HOME/lock"
	flock 8
	LC_ALL=C apt-get "${APT[@]}" update >"$APT_HOME/log" 2>&1 8>&- || rc=$?
	exec 8>&-
	if ((rc)) || grep -qE '^(Err:|E: |W: (Failed|GPG|An error))' "$APT_HOME/log"; then
		REASON=$(apt_why "$APT_HOME/log")
		return 1
	fi
	touch "$APT_HOME/stamp"
}

# Prints the keyrings that entries name and that do not exist.
missing_keyrings() {
	local f
	sed -nE 's/.*[[ ]signed-by=([^] ]*).*/\1/p; s/^Signed-By:[[:space:]]*(\/[^[:space:]]*).*/\1/p' \
		"$APT_HOME"/sources.list.d/* | tr , '\n' | while IFS= read -r f; do
		[[ $f != /* ]] || [ -r "$f" ] || printf '%s ' "$f"
	done
}

# apt_why LOG: print in a few words why apt failed.
apt_why() {
	local line keyring id
	if grep -qE 'NO_PUBKEY|Missing key|not signed' "$1"; then
		keyring=$(missing_keyrings)
		id=$(grep -m1 -oE '(NO_PUBKEY|Missing key) [0-9A-F]+' "$1" | grep -oE '[0-9A-F]+$') || :
		line=$(grep -m1 -oE '[a-z]+:/[^ ]+ [^ ]+ (In)?Release' "$1") || :
		if [ -n "$keyring" ]; then
			echo "the keyring ${keyring% } is not there: install the package that has it"
		elif [ -n "$id" ]; then
			echo "the key $id, which signed ${line% *}, is in no keyring that may have it:" \
				"update the package with the keyring"
		else
			echo "${line% *} is not signed, and its entry does not say trusted=yes"
		fi
		return
	fi
	line=$(grep -m1 -E 'is expired|not valid yet' "$1") || :
	if [ -n "$line" ]; then
		echo "the index of the archive is out of date, or this machine's clock is wrong: ${line#[EW]: }"
		return
	fi
	line=$(grep -m1 -E '^E: .*does not have a Release file' "$1" ||
		grep -m1 -E '^[EW]: Failed to fetch' "$1" ||
		grep -m1 -E '^[EW]: ' "$1" || tail -n 1 "$1")
	sed -E 's/^[EW]: (Failed to fetch )?//; s/ +/ /g; s/^([a-z]+:[^ ]*) +/\1: /' <<<"$line"
}

# apt_versions PACKAGE: print the versions of its source package that the indexes list.
apt_versions() {
	apt-cache "${APT[@]}" showsrc "$1" 2>/dev/null | sed -n 's/^Version: //p' | sort -uV
}

# apt_upstream DIR PACKAGE VERSION: download the upstream archive of the source package into
# DIR, and nothing else: some mirrors lack the other files. There is no retry: a file that
# is missing will still be missing a moment later.
apt_upstream() {
	local log=$APT_HOME/log.source
	if ! (cd "$1" && LC_ALL=C apt-get "${APT[@]}" source --download-only --tar-only "$2=$3") >"$log" 2>&1; then
		REASON=$(apt_why "$log")
		return 1
	fi
}
