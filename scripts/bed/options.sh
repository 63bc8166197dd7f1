# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The options that a kernel's configuration asks for (config/), compared with those that it has:
# kconfig drops an option without a word if its dependencies are missing, or if it has another name now.
# shellcheck shell=bash

# lost_options HAS < ASKED: print each option of ASKED that the file HAS, a .config, has not, or has with
# another value. The last line of an option counts. What belongs to an option that is left out is left
# out, too: its name begins with that one's.
lost_options() {
	awk '
		function is_left_out(name) {
			while (sub(/_[A-Z0-9]*$/, "", name))
				if (name in asked && asked[name] == name "=n") return 1
			return 0
		}
		!/^CONFIG_[A-Za-z0-9_]*=/ { next }
		{ name = $0; sub(/=.*/, "", name) }
		FILENAME != "-" { has[name] = $0; next }
		{ asked[name] = $0 }
		END {
			for (name in asked)
				if (asked[name] == name "=n") {
					if (name in has) print asked[name]
				} else if (has[name] != asked[name] && !is_left_out(name))
					print asked[name]
		}' "$1" - | sort
}
