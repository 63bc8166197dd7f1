#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Usage: features.sh HEADER COMPILER FLAGS...
#
# Writes HEADER, which defines PINION_HAVE_NAME for each form of an interface that this kernel
# has; called by Kbuild. What a kernel has is what compiles. A kernel which has neither the new
# form nor the old one is told of by name, with the compiler's words.
# Exit status: 0, or 1 with the reason on stderr.
set -eu

case ${1:--h} in
-h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;;
esac
header=$1
shift
mkdir -p "${header%/*}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compiles NAME CODE COMPILER FLAGS...
compiles() {
	{
		printf '#define KBUILD_MODNAME "pinion"\n#define KBUILD_BASENAME "features"\n'
		for h in linux/device.h linux/dma-buf.h linux/hmm.h linux/hrtimer.h linux/module.h linux/workqueue.h \
			rdma/ib_umem.h rdma/ib_umem_odp.h rdma/ib_verbs.h; do
			printf '#include <%s>\n' "$h"
		done
		printf '%s\n' "$2"
	} >"$work/$1.c"
	shift 2
	"$@" -Werror -Wno-error=cpp -fsyntax-only "$work/$name.c" >"$work/$name.words" 2>&1
}

# feature NAME NEW [OLD]: without OLD, an interface that older kernels lack.
features=
feature() { features="$features $1"; eval "new_$1=\$2 old_$1=\${3:-}"; }

feature DEV_FLAGS \
	'void f(struct device *dev); void f(struct device *dev) { (void)DEV_FLAG_DMA_COHERENT; }'
feature INVALIDATE_MAPPINGS \
	'struct dma_buf_attach_ops f; void *g(void); void *g(void) { return f.invalidate_mappings; }' \
	'struct dma_buf_attach_ops f; void *g(void); void *g(void) { return f.move_notify; }'
feature HMM_DMA_MAP \
	'#include <linux/hmm-dma.h>
	dma_addr_t (*f)(struct device *, struct hmm_dma_map *, size_t, struct pci_p2pdma_map_state *) = hmm_dma_map_pfn;' \
	'dma_addr_t *f(struct ib_umem_odp *odp); dma_addr_t *f(struct ib_umem_odp *odp) { return odp->dma_list; }'
feature HRTIMER_SETUP \
	'void (*f)(struct hrtimer *, enum hrtimer_restart (*)(struct hrtimer *), clockid_t, enum hrtimer_mode) = hrtimer_setup;' \
	'void (*f)(struct hrtimer *, clockid_t, enum hrtimer_mode) = hrtimer_init;'
# Either compiles everywhere, but a string that is made a string once more is longer.
ns='#undef MODULE_INFO
	#define MODULE_INFO(tag, info) _Static_assert(sizeof(info) == sizeof("DMA_BUF"), #tag)'
feature IMPORT_NS_STRING \
	"$ns
	MODULE_IMPORT_NS(\"DMA_BUF\");" \
	"$ns
	MODULE_IMPORT_NS(DMA_BUF);"
feature DFL_WQ \
	'void *f(void); void *f(void) { return system_dfl_wq; }' \
	'void *f(void); void *f(void) { return system_unbound_wq; }'
feature UMEM_GET_VA \
	'struct ib_umem *(*f)(struct ib_device *, unsigned long, size_t, int) = ib_umem_get_va;' \
	'struct ib_umem *(*f)(struct ib_device *, unsigned long, size_t, int) = ib_umem_get;'
feature RDMA_ITER \
	'#include <rdma/iter.h>
	dma_addr_t (*f)(struct ib_block_iter *) = rdma_block_iter_dma_address;' \
	'dma_addr_t (*f)(struct ib_block_iter *) = rdma_block_iter_dma_address;'
feature ODP_SUPPORT_FLUSH \
	'int f = IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE;'
feature ALLOC_WITH_NET \
	'struct f { struct ib_device ibdev; };
	void *g(struct net *net); void *g(struct net *net) { return ib_alloc_device_with_net(f, ibdev, net); }' \
	'struct f { struct ib_device ibdev; };
	void *g(void); void *g(void) { return ib_alloc_device(f, ibdev); }'
feature PORT_STATE_EVENT \
	'void (*f)(struct ib_device *, struct net_device *) = ib_dispatch_port_state_event;'
feature COUNTER_INIT \
	'int f(struct rdma_counter *c, struct ib_qp *qp, u32 port);
	struct ib_device_ops g = { .counter_bind_qp = f, .counter_init = NULL };' \
	'int f(struct rdma_counter *c, struct ib_qp *qp);
	struct ib_device_ops g = { .counter_bind_qp = f };'
feature DMAH \
	'struct ib_mr *f(struct ib_pd *, u64, u64, u64, int, struct ib_dmah *, struct ib_udata *);
	struct ib_device_ops g = { .reg_user_mr = f, .alloc_dmah = NULL };' \
	'struct ib_mr *f(struct ib_pd *, u64, u64, u64, int, struct ib_udata *);
	struct ib_device_ops g = { .reg_user_mr = f };'
feature RESIZE_USER_CQ \
	'int f(struct ib_cq *, unsigned int, struct ib_udata *);
	struct ib_device_ops g = { .resize_user_cq = f };' \
	'int f(struct ib_cq *, int, struct ib_udata *);
	struct ib_device_ops g = { .resize_cq = f };'
feature QUERY_PORT_SPEED \
	'int f(struct ib_device *, u32, u64 *);
	struct ib_device_ops g = { .query_port_speed = f };'
feature ROBUST_UDATA \
	'struct ib_device_ops g = { .uverbs_robust_udata = true };'

name=BASE
compiles $name '' "$@" || {
	echo "features.sh: this kernel's headers do not compile:" >&2
	cat "$work/$name.words" >&2
	exit 1
}
for name in $features; do
	(
		new='' old=''
		eval "new=\$new_$name old=\$old_$name"
		if compiles "$name" "$new" "$@"; then
			echo "#define PINION_HAVE_$name 1" >"$work/$name.have"
		elif [ -n "$old" ] && cp "$work/$name.words" "$work/$name.new" && ! compiles "$name" "$old" "$@"; then
			{
				echo "features.sh: of $name this kernel has neither the new form nor the old one; the new one:"
				grep error "$work/$name.new"
			} >"$work/$name.lost"
		fi
	) &
	# As many at a time as are worth it.
	running=$((${running:-0} + 1))
	[ $((running % 4)) != 0 ] || wait
done
wait
if ls "$work"/*.lost >/dev/null 2>&1; then
	cat "$work"/*.lost >&2
	exit 1
fi
{
	echo '/* Written by kernel/compat/features.sh for this kernel. */'
	for name in $features; do [ ! -e "$work/$name.have" ] || cat "$work/$name.have"; done
} >"$work/features.h"
cmp -s "$work/features.h" "$header" || cp "$work/features.h" "$header"
