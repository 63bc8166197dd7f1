# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the RDMA core, dma-bufs, lists of pages, mmu notifiers, and packets and routes have allocated, on
# kernels that count it by place (CONFIG_MEM_ALLOC_PROFILING). A driver that keeps a reference to an object
# of theirs leaks what only these counts show: the module's own allocations are checked by the kernel when
# it is removed. What lib/xarray.c has allocated tells nothing: files that were read have their pages there.

# What may be more in the end than in the beginning, FILE:FUNCTION COUNT, each with the reason.
allowed() {
	# The core keeps the domain for ever in which a target queue pair could not be made, as the
	# sweeps let it happen (Documentation/upstream, 10).
	echo "drivers/infiniband/core/uverbs_cmd.c:xrcd_table_insert 2"
	# KUnit does not give back the address space of a test (kunit_attach_mm): the reference that
	# kthread_use_mm() takes stays when the thread exits.
	echo "mm/mmu_notifier.c:__mmu_notifier_register 64"
	# Routes are kept as long as the network devices that they lead to.
	echo "net/core/dst.c:dst_alloc 32"
	# Sockets that still exist have packets, such as one of RDMA netlink that nobody reads. The heads of
	# packets go to a cache of each processor when they are freed; the data of a packet do not, so
	# these tell of a few.
	echo "net/core/skbuff.c:kmalloc_reserve 8"
	for name in __alloc_skb __build_skb skb_clone napi_skb_cache_get napi_skb_cache_get_bulk; do
		echo "net/core/skbuff.c:$name 256"
	done
}

counted() { [ -r /proc/allocinfo ] && have awk; }

# Prints PLACE COUNT, where PLACE is FILE:FUNCTION. With an argument also those that have nothing.
allocated() {
	awk -v all="${1:-}" 'match($3, /(^|\/)(drivers\/(infiniband\/core|dma-buf)\/.*|mm\/(mmu_notifier|hmm)\.c|lib\/scatterlist\.c|net\/core\/(skbuff|dst)\.c):/) {
			file = substr($3, RSTART, RLENGTH - 1)
			sub(/^\//, "", file)
			name = ""
			for (i = 4; i <= NF; i++) if ($i ~ /^func:/) name = substr($i, 6)
			sum[file ":" name] += $2
		}
		END { for (place in sum) if (sum[place] || all) print place, sum[place] }' /proc/allocinfo
}

# Are the places of the RDMA core, and those of lists of pages, found at all? Otherwise nothing would ever be
# missed.
places_known() {
	[ -n "$(allocated all | grep '^drivers/infiniband/core/')" ] && [ -n "$(allocated all | grep '^lib/scatterlist')" ]
}

# Compares what is allocated now with FILE, of before. Prints what has grown by more than is allowed.
grown() { # FILE
	{ allowed | sed 's/^/allowed /'; sed 's/^/before /' "$1"; allocated | sed 's/^/now /'; } |
		awk '$1 == "allowed" { may[$2] = $3; next }
		$1 == "before" { was[$2] = $3; next }
		$3 > was[$2] + may[$2] { printf "%s has %d, had %d\n", $2, $3, was[$2] }'
}
