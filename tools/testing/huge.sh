# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154
# What mlx5dv does with huge pages, which only Debian's kernels have; and tests of pyverbs for mlx5 on
# our device. For suites, after lib.sh.

mlx5_tests=/usr/share/doc/rdma-core/tests
mlx5_parameters=/sys/module/pinion/parameters
mlx5_run=$PROGRAMS/libdv/pinion-run

mlx5_on_huge_pages=(huge_page.ResourcesOnHugePageTest.test_prefer_obj_on_huge)
# That test needs huge pages in use: without any it would see no failure.
! grep -q 'HugePages_Total: *[1-9]' /proc/meminfo ||
	mlx5_on_huge_pages+=(huge_page.ResourcesOnHugePageTest.test_obj_on_huge)

mlx5_pyverbs_is_there() {
	python3 -c 'from pyverbs.providers.mlx5.mlx5dv import Mlx5UMEM; Mlx5UMEM.import_umem' 2>/dev/null &&
		compgen -G "$mlx5_tests/test_mlx5_huge_page.py*" >/dev/null && [ -w $mlx5_parameters/vendor_id ]
}
# mlx5_pyverbs TEST...: on a device with the part number of a ConnectX
mlx5_pyverbs() {
	mkdir "$TMP/tests"
	cp $mlx5_tests/* "$TMP/tests"
	gunzip "$TMP"/tests/*.gz
	rdma link delete "$DEV"
	echo 713 >$mlx5_parameters/vendor_id
	echo 4129 >$mlx5_parameters/vendor_part_id
	rdma link add "$DEV" type pinion netdev eth0
	NAME=pyverbs PYTHONPATH=$HERE/standin PYTHONDONTWRITEBYTECODE=1 \
		ktap "$mlx5_run" python3 "$HERE/run_pyverbs.py" "$TMP" "$DEV" "$GID" $((60 * SLOW)) \
		$# "${@/#/tests.test_mlx5_}"
}

# Of the suite dv, what only such a kernel can test.
huge_pages_of_mlx5dv() {
	export PINION_MLX5DV=$PROGRAMS/libdv/libpinion-mlx5dv.so.0
	[ -e "$PINION_MLX5DV" ] || { skip mlx5dv "this root's libmlx5 is too old for the tests"; return; }
	ktap "$mlx5_run" "$PROGRAMS/dv/umem" --device "$DEV"
	if mlx5_pyverbs_is_there; then
		mlx5_pyverbs "${mlx5_on_huge_pages[@]}"
	else
		skip pyverbs "no tests for mlx5, or older ones"
	fi
}
