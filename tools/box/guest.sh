# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Functions of the scripts that run inside the box.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

have() { command -v "$1" >/dev/null 2>&1; }

dmesg_tail() { dmesg 2>/dev/null | tail -n 5; }

insert() { # FILE PARAMETERS
	f=$1
	shift
	/run/box/lib/box-init insmod "$f" "$*"
}

# load MODULE: by modprobe if the root has it, else by the kernel's list of dependencies.
load() { # MODULE
	if have modprobe; then
		modprobe -q "$1"
		return
	fi
	d=/lib/modules/$(uname -r)
	line=$(grep "/$1\.ko[.a-z]*:" "$d/modules.dep" 2>/dev/null) ||
		{ grep -q "/$1\.ko" "$d/modules.builtin" 2>/dev/null; return; }
	self=${line%%:*}
	deps=
	for f in ${line#*:}; do deps="$f $deps"; done
	for f in $deps $self; do insert "$d/$f" || return; done
}

# depends FILE: print the modules that a module file depends on. Works without kmod.
depends() { tr '\0' '\n' <"$1" | sed -n 's/^depends=//p' | tr , ' '; }
