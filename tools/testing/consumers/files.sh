# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# For the suites of file systems behind RDMA: tests of the file system that is mounted at $mnt,
# which the server has at $exports.
. "$(dirname "$0")/../consumers/common.sh"

exports=$TMP/export
mnt=$TMP/mnt
mkdir -p "$exports" "$mnt"

copy_there() {
	head -c 20000003 /dev/urandom >"$TMP/data"
	cp "$TMP/data" "$mnt/copy" && sync "$mnt/copy"
}
copy_back() { echo 3 >/proc/sys/vm/drop_caches && cmp "$TMP/data" "$mnt/copy"; }
copy() { copy_there && cmp "$TMP/data" "$exports/copy" && copy_back; }
small() {
	local i
	mkdir "$mnt/dir" || return
	for ((i = 0; i < 100; i++)); do echo "file $i" >"$mnt/dir/$i" || return; done
	[ "$(ls "$mnt/dir" | wc -l)" = 100 ] && [ "$(cat "$exports/dir/99")" = "file 99" ] && rm -r "$mnt/dir"
}
# Long names make replies that do not fit inline.
listing_there() {
	local i name
	name=$(printf 'x%.0s' {1..200})
	mkdir "$exports/long" && for ((i = 0; i < 500; i++)); do : >"$exports/long/$name$i"; done
}
listing_back() { [ "$(find "$mnt/long" -type f | wc -l)" = 500 ]; }
listing() { listing_there && listing_back; }
verified() {
	fio --name=verify --directory="$mnt" --size=16M --rw=randwrite --bsrange=1k-1M --direct=1 \
		--ioengine=libaio --iodepth=4 --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal
}
