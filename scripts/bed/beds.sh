# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Shared by check, try and mutants: the names of the beds, what has to be built for each, and how
# to run a command in it. A bed is a kernel and a root:
#   host	no guest: this machine
#   plain	UML 7.2, fast; Debian forky with rdma-core 65
#   checked	UML 7.2 with lockdep and other checkers, and coverage of the module; forky
#   box-kasan	checked with KASAN
#   box-kcsan	plain with KUnit, and KCSAN, which finds data races of the module
#   trixie	UML 7.2; Debian 13 with rdma-core 56
#   here	UML 7.2; this machine's files, user and rdma-core
#   7.2, 6.12	Debian's own kernels in QEMU; forky
#   kasan	x86 kernel with KASAN and lockdep in QEMU; forky
#   own		UML of another kernel tree, see bed_own(); forky
# shellcheck shell=bash disable=SC2034

. "$BED/kept.sh"

# By which factor tests take longer than on the bed plain.
declare -A slow=([host]=1 [plain]=1 [checked]=3 [trixie]=1 [here]=1 [7.2]=4 [6.12]=4 [kasan]=10 [box-kasan]=10 [box-kcsan]=5 [own]=3)
# The target of module-build for the bed's kernel.
declare -A target=([plain]=uml-plain [trixie]=uml-plain [here]=uml-plain [checked]=uml-checked
	[7.2]=stock-7.2 [6.12]=stock-6.12 [kasan]=kasan [box-kasan]=uml-kasan [box-kcsan]=uml-kcsan
	[own]=own)
# A test module that exports dma-bufs.
exporter=$TOP/tools/testing/exporter
# A test module that uses verbs in the kernel; for kernels with KUnit.
kverbs=$TOP/tools/testing/kverbs

# bed_own TREE FLAVOUR CONFIG [KERNEL]: make the kernel of TREE the kernel of the bed `own'. Builds
# it, unless KERNEL names the folder of the built kernel. CONFIG is a file or empty.
bed_own() {
	own_tree=$1 own_flavour=$2
	OWN_KERNEL=${4:-$("$BED/kernel-uml" --tree "$1" ${3:+--config "$3"} "$2")}
	export OWN_KERNEL
}

# Builds pinion and the exporter for a bed's kernel.
bed_modules() { # BED
	"$BED/module-build" "${target[$1]}" >/dev/null
	BUILD_SOURCE=$exporter "$BED/module-build" "${target[$1]}" >/dev/null
}

# Prints a checksum of each file that test programs are made of.
bed_sum_programs() (
	cd "$TOP" || return
	find include lib tools/{testing,ctl,examples,mrbench,record,box/hosts} \( -name build -o -name mutants -o -name fuzz -o -name exporter \
		-o -name kverbs -o -name rawpin -o -name lossy \) -prune -o -type f \( -name '*.[ch]' -o -name '*.map*' \
		-o -name Makefile -o -name '*.mk' -o -name '*.sh' \) -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
)
# Builds test programs, by default all, with the compiler and the libibverbs of a root. An empty
# folder begins with the last build by any tree, if only sources of test programs have changed since.
# Only this first make is told which, so if it fails, the next one begins with an empty folder, too.
bed_programs() ( # ROOT [PROGRAM...]
	local dir=$TOP/build/testing-$1 begun sums what='' changed=() file as_new=()
	mkdir -p "$TOP/build"
	exec 9>"$dir.lock"
	flock 9
	kept_begin "$dir"
	if (($# == 1)) && [ "$1" != host ]; then
		begun=$(date +%s.%N)
		sums=$(bed_sum_programs)
		what=$(grep -v '^[^ ]* *tools/testing/.*\.c$' <<<"$sums" | key "$("$BED/root" "$1")" "$(declare -f bed_programs)" \
			"${CFLAGS:-}" "${LDFLAGS:-}")
		if [ -z "$(find "$dir" -type f -print -quit)" ] &&
			kept_take "programs-$1" "$what" "$sums" "$TOP" "$dir" "$begun"; then
			# They have the path of that tree in them.
			rm -rf "$dir/examples"
			for file in "${changed[@]#tools/testing/}"; do
				as_new+=(-W "$file")
				[ -e "$TOP/tools/testing/$file" ] || rm -f "$dir"/{,dv/linked/,dv/alone/}"${file%.c}" "$dir/${file%.c}".{o,so}
			done
		fi
	fi
	"$BED/enter" --rw "$dir" "$1" make -s -j"$JOBS" -C "$TOP/tools/testing" O="$dir" "${as_new[@]}" "${@:2}" >&2 || return
	rm -f "$dir/.taken"
	[ -z "$what" ] || kept_give "programs-$1" "$what" "$sums" "$TOP" "$dir" -type f -o -type l
)

# Sets $inside to the command that sets the environment of the tests. HOW: a selection as in check's
# plan (`quick', ...), or empty. No test begins after $until, if set (seconds since 1970).
bed_inside() { # BED ROOT HOW
	local like=$1 try_on="--bed $1"
	if [ "$1" = own ]; then
		like=$own_flavour
		case $like in kasan | kcsan) like=box-$like ;; esac
		try_on="--kernel $own_tree --flavour $own_flavour"
	fi
	inside=(env "SLOW=${slow[$like]}" "QUICK=$3" "UNTIL=${until:-0}" "BED=$like" "TRY_ON=$try_on" "PROGRAMS=$TOP/build/testing-$2"
		"EXPORTER=$exporter/build/${target[$1]}/exporter.ko"
		"KVERBS=$kverbs/build/${target[$1]}/kverbs.ko" "MODULE=$TOP/build/${target[$1]}/pinion.ko")
}

# Sets $guest to the command that boots a bed, with what has been built for it.
bed_guest() { # BED ROOT
	local folder=/
	case $1 in
	here) guest=(tools/box/pinion-box --user) ;;
	plain | checked | box-kasan | box-kcsan | trixie)
		[ "$2" = host ] || folder=$("$BED/root" "$2")
		guest=(tools/box/pinion-box --root "$folder")
		case $1 in
		checked) guest+=(--flavour checked) ;;
		box-kasan | box-kcsan) guest+=(--flavour "${1#box-}") ;;
		esac
		;;
	own)
		[ "$2" = host ] || folder=$("$BED/root" "$2")
		guest=(env "PINION_BOX_KERNEL=$OWN_KERNEL" tools/box/pinion-box --root "$folder" --flavour "$own_flavour")
		;;
	*)
		guest=(scripts/qemu --kernel "$1" --root "$2")
		# These kernels have no KASAN, but can be told to poison what is freed.
		[ "$1" = kasan ] || guest+=(--append "slab_debug=FZP page_poison=1 kfence.sample_interval=10")
		;;
	esac
	guest+=(--module-dir "$TOP/build/${target[$1]}")
}
