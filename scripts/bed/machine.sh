# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Checks of this machine that scripts make before they begin any work. A failed check prints
# one line that says what to do. lib.sh sources this file, which uses its say() and die().
# shellcheck shell=bash

# Fails where installing packages cannot help: the architecture, or a system without apt-get.
machine_is_known() {
	[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] ||
		die "this is $(uname -s) on $(uname -m): the box's kernel, user-mode Linux, is for x86-64 alone"
	command -v apt-get dpkg-query >/dev/null && (($(command -v apt-get dpkg-query | wc -l) == 2)) ||
		die "there is no apt-get here: use Debian, a distribution based on it, or a container" \
			"(podman run -it -v \"\$PWD:/pinion\" -w /pinion debian:13)"
}

# machine_has_room MB FOLDER [ADVICE]: fail unless MB are free below FOLDER, which need not exist.
machine_has_room() {
	local d=$2 free advice=${3:-set PINION_CACHE to a folder with room}
	while [ ! -d "$d" ]; do d=$(dirname "$d"); done
	free=$(df --output=avail -BM "$d" | tail -n 1 | tr -dc 0-9)
	((free >= $1)) || die "$1 MB are needed in $2, and $free MB are free there: $advice"
}

# Succeeds if this machine has a network route, a proxy, or a mirror of its own.
machine_is_online() {
	local m
	m=${http_proxy:-}${https_proxy:-}$(apt-config dump 2>/dev/null | grep -i '^Acquire::https\?::Proxy ' || :)
	[ -z "$m" ] || return 0
	# shellcheck disable=SC2034 # die() reads it
	m=$(PINION_WHY='' && mirror 2>/dev/null) || :
	[[ $m != *://127.* && $m != *://localhost* && $m != file:* && $m != copy:* ]] || return 0
	# The IPv4 table has a header line. The IPv6 table always has some routes (ff00::/8,
	# unreachable ones): look for a default route that is not on lo.
	(($(wc -l </proc/net/route) > 1)) ||
		awk '$1 ~ /^0+$/ && $2 == "00" && $10 != "lo" { found = 1 } END { exit !found }' /proc/net/ipv6_route 2>/dev/null
}
