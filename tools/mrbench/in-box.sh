# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Usage: in-box.sh OUT RAWPIN MRBENCH JOB...
#
# Runs inside a bed: loads the module RAWPIN (- for none) and runs MRBENCH for each JOB, one
# argument with a name and options: `NAME -d ... -s ...'. JSON goes to OUT/NAME.json.
out=$1
rawpin=$2
mrbench=$3
shift 3
if [ "$rawpin" != - ]; then
	insmod "$rawpin" || exit
fi
# For too large a region rxe tries to allocate a contiguous list, and the kernel warns once.
echo 'box: expect 1 WARNING: mm/page_alloc' >/dev/kmsg
rc=0
for job; do
	name=${job%% *}
	echo "$name: mrbench ${job#* }" >&2
	# Unquoted: the options are words.
	# shellcheck disable=SC2086
	"$mrbench" --json ${job#* } >"$out/$name.json" || rc=$?
done
exit $rc
