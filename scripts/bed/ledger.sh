# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Reads a ledger of skips: lines `BED/SUITE | NAME | WHY', all shell patterns; those that begin with
# `#' are comments.
# shellcheck shell=bash

# ledger_of LEDGER BED/SUITE: its lines for that
ledger_of() {
	local line where
	while IFS= read -r line; do
		[[ $line == *' | '*' | '* && $line != '#'* ]] || continue
		where=${line%% | *}
		# shellcheck disable=SC2053 # a pattern
		[[ $2 != ${where%"${where##*[![:space:]]}"} ]] || printf '%s\n' "$line"
	done <"$1"
}
