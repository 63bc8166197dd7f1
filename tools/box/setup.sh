# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Runs inside the box before the command: loads modules, makes networks and devices.
# In: BOX_DEVICES BOX_NETNS BOX_WITH BOX_MODULE BOX_PARAM BOX_PROVIDER BOX_HUGEPAGES BOX_LINKS; for
# one of several hosts also BOX_HOST BOX_HOSTS BOX_DRIVER
# Plain sh, because the root may be of any distribution.
set -eu
. /run/box/lib/guest.sh
. /run/box/lib/allocated.sh

# Prints the reason. The status tells box-init not to print another message.
fail() {
	echo "pinion-box: $*" >&2
	exit 3
}

have ip || fail "no \`ip' in this root: install iproute2 there"
ip link set lo up
# Nobody else has these addresses, so do not wait a second for duplicate address detection.
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
# A machine that stalls may need more than the default of ten seconds to release a netdev.
echo 60 2>/dev/null >/proc/sys/net/core/netdev_unregister_timeout_secs || :
# Large enough for packets of a path MTU of 4096 bytes.
mtu=9000

# Sets addresses with the device index (THIRD) and the namespace (LAST).
address() { # NETDEV THIRD LAST
	ip addr add "10.0.$2.$3/24" dev "$1"
	ip addr add "fd00:$2::$3/64" dev "$1" nodad
}

links=${BOX_DEVICES:-1}
namespaces=${BOX_NETNS:-0}

# Makes PREFIXeth0, PREFIXeth1, ..., and in each namespace a PREFIXeth0 that is bridged to the
# first.
# THIRD is added to the third group of their addresses.
netdevs() { # PREFIX THIRD
	i=0
	while [ $i -lt "$links" ]; do
		if [ "$1$i" = 0 ] && [ "$namespaces" -gt 0 ]; then
			ip link add eth0 type bridge
		else
			ip link add "$1eth$i" mtu $mtu type veth peer name "$1eth${i}p" mtu $mtu
			[ $i != 0 ] || [ "$namespaces" = 0 ] || ip link set "$1eth0p" master eth0
			ip link set "$1eth${i}p" up
		fi
		address "$1eth$i" $(($2 + i)) 1
		ip link set "$1eth$i" up
		i=$((i + 1))
	done
	n=1
	while [ $n -le "$namespaces" ]; do
		ip link add "$1ns$n" mtu $mtu type veth peer name "$1eth0" mtu $mtu netns ns$n
		ip link set "$1ns$n" master eth0 up
		ip -n ns$n addr add "10.0.$2.$((n + 1))/24" dev "$1eth0"
		ip -n ns$n addr add "fd00:$2::$((n + 1))/64" dev "$1eth0" nodad
		ip -n ns$n link set "$1eth0" up
		n=$((n + 1))
	done
}

n=1
while [ $n -le "$namespaces" ]; do
	ip netns add ns$n
	ip -n ns$n link set lo up
	n=$((n + 1))
done

# For one of several hosts: sets its name and the names of all, and makes its Ethernet eth0.
join() { # HOST HOSTS
	echo "host$1" >/proc/sys/kernel/hostname
	i=1
	while [ $i -le "$2" ]; do
		printf '%s\thost%s\n' "10.0.101.$i" $i "fd00:101::$i" $i >>/etc/hosts
		i=$((i + 1))
	done
	# In user-mode Linux it is vec0, in QEMU a virtio card, which is eth0.
	if [ -e /sys/class/net/vec0 ]; then ip link set vec0 name eth0; else load virtio_net; fi || :
	ip link set eth0 mtu $mtu || fail "no Ethernet: $(dmesg_tail)"
	address eth0 101 "$1"
	ip link set eth0 up
}

if [ -n "${BOX_HOST:-}" ]; then
	join "$BOX_HOST" "$BOX_HOSTS"
else
	netdevs "" 0
	[ "$namespaces" = 0 ] || ip link set eth0 mtu $mtu
fi

if [ "${BOX_HUGEPAGES:-0}" != 0 ] && [ -e /proc/sys/vm/nr_hugepages ]; then
	echo "$BOX_HUGEPAGES" >/proc/sys/vm/nr_hugepages
fi

if [ -n "${BOX_MODULE:-}" ]; then
	mkdir -p /etc/modprobe.d
	# For `rdma link add NAME type pinion' (or another of its types), which loads the module as
	# if it were installed.
	cat >/etc/modprobe.d/pinion-box.conf <<-X
		alias rdma-link-pinion* pinion
		install pinion /bin/sh /run/box/lib/load-pinion.sh \$CMDLINE_OPTS
	X
	sh /run/box/lib/load-pinion.sh "$BOX_PARAM" || fail "pinion.ko does not load: $(dmesg_tail)"
fi

if [ -n "${BOX_PROVIDER:-}" ]; then
	# Copy it where any user can read it: it may be in a home directory that others cannot
	# enter, and the command may change its user.
	mkdir -p /etc/libibverbs.d /run/pinion
	cp "$BOX_PROVIDER"-rdmav*.so /run/pinion/ || fail "no provider $BOX_PROVIDER-rdmav*.so"
	chmod -R a+rX /run/pinion
	echo "driver /run/pinion/${BOX_PROVIDER##*/}" >/etc/libibverbs.d/pinion.driver
	chmod -R a+rX /etc/libibverbs.d
fi

have_rdma() { have rdma || fail "no \`rdma' in this root: install iproute2 there"; }

# Adds a link for each netdev: pinion0 on eth0, pinion1 on eth1, ...; pinion.ns1 in namespace ns1.
add_links() { # TYPE [PREFIX OF NETDEVS]
	have_rdma
	i=0
	while [ $i -lt "$links" ]; do
		rdma link add "$1$i" type "$1" netdev "${2:-}eth$i" || fail "rdma link add $1$i: $(dmesg_tail)"
		i=$((i + 1))
	done
	n=1
	while [ $n -le "$namespaces" ]; do
		ip netns exec ns$n rdma link add "$1.ns$n" type "$1" netdev "${2:-}eth0" ||
			fail "rdma link add $1.ns$n: $(dmesg_tail)"
		n=$((n + 1))
	done
}

for m in ib_uverbs rdma_ucm ib_umad; do load $m || :; done
# Compared in the end, when all devices have gone.
if counted; then
	[ ! -d /sys/class/infiniband ] || places_known ||
		fail "/proc/allocinfo does not say what the RDMA core or lib/scatterlist.c has allocated, or says it in another way"
	allocated >/run/box/allocated
fi
# Adds the device of one of several hosts.
add_link() { # NAME TYPE
	have_rdma
	rdma link add "$1" type "$2" netdev eth0 || fail "rdma link add $1 type $2: $(dmesg_tail)"
}

if [ "${BOX_LINKS:-1}" = 0 ]; then
	:
elif [ -n "${BOX_HOST:-}" ]; then
	case $BOX_DRIVER in
	rxe) load rdma_rxe && add_link rxe0 rxe ;;
	siw) load siw && add_link siw0 siw ;;
	*) [ -z "${BOX_MODULE:-}" ] || add_link pinion0 pinion-auto ;;
	esac || fail "no $BOX_DRIVER in this kernel"
elif [ -n "${BOX_MODULE:-}" ]; then
	add_links pinion
fi
for w in ${BOX_WITH:-}; do
	case $w in
	rxe)
		load rdma_rxe || fail "no rxe in this kernel"
		add_links rxe
		;;
	siw)
		load siw || fail "no siw in this kernel"
		# siw connects by rdma_cm only, which chooses the device by the address and takes
		# the first of several on a netdev. So siw gets netdevs of its own.
		netdevs siw- 100
		add_links siw siw-
		;;
	*) fail "--with $w: only rxe and siw are known" ;;
	esac
done
exit 0
