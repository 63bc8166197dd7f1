# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# NFS over RDMA: the server of $exports at $ADDR, and its client at $mnt.
. "$(dirname "$0")/../consumers/files.sh"

serve() {
	local nfsd=/proc/fs/nfsd
	mount -t tmpfs -o size=256M tmpfs "$exports" || return
	mountpoint -q $nfsd || mount -t nfsd nfsd $nfsd || return
	mkdir -p /var/lib/nfs/rpc_pipefs /run/rpcbind
	mountpoint -q /var/lib/nfs/rpc_pipefs || mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
	: >>/var/lib/nfs/etab
	# There are no clients with state to reclaim.
	echo 1 >$nfsd/nfsv4leasetime
	echo 1 >$nfsd/nfsv4gracetime
	echo -2 -3 +4 >$nfsd/versions 2>/dev/null || echo -3 +4 >$nfsd/versions
	rpc.mountd -N 3 || rpc.mountd || return
	exportfs -o rw,no_root_squash,insecure,fsid=0,no_subtree_check "*:$exports" || return
	# The server needs a listener before it gets threads.
	echo "rdma 20049" >$nfsd/portlist && echo 8 >$nfsd/threads
}
attach() { mount -t nfs -o "vers=$1,proto=rdma,port=20049,timeo=100,retrans=2${2:+,$2}" "$ADDR:/" "$mnt"; }
over_rdma() { grep " $mnt nfs4 .*proto=rdma" /proc/mounts; }
detach() { umount "$mnt"; }
stop() {
	local i
	echo 0 >/proc/fs/nfsd/threads && exportfs -ua && kill "$(pidof rpc.mountd)"
	# The server closes its files a little later.
	for ((i = 0; i < 50 * SLOW; i++)); do
		! umount "$exports" || return 0
		sleep 0.1
	done
	return 1
}
