// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registers memory in all possible ways, lets the device write random bytes to it and read them
 * back, and prints the result. Meant to be copied from.
 *
 *	cc pinion-mr-tour.c $(pkg-config --cflags --libs libpinion-rpma libpinion-mlx5dv)
 *
 * The connection to itself, in loop.h, is one for RoCE and InfiniBand.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <librpma.h>
#include <linux/udmabuf.h>
#include <pinion/version.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "key.h"
#include "loop.h"

enum {
	LENGTH = 3 * 4096,
	HUGE_PAGE = 2 << 20,
	FULL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
	       IBV_ACCESS_REMOTE_READ,
};

static struct ibv_mr *ours; /* source and destination of transfers */
static char *from, *back; /* its two halves */

static void *map(size_t length, int flags)
{
	return mmap(NULL, length, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static enum ibv_wc_status move(enum ibv_wr_opcode opcode, char *local,
			       uint64_t address, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)local, LENGTH, ours->lkey };

	return loop_move(opcode, &sge, address, rkey);
}

/* Write to @address by the key, compare with @memory, and read it back. */
static void show_key(const char *way, uint32_t rkey, uint64_t address,
		     const char *memory)
{
	enum ibv_wc_status status;
	char text[160];

	need(getrandom(from, LENGTH, 0) == LENGTH, "getrandom");
	memset(back, 0, LENGTH);
	status = move(IBV_WR_RDMA_WRITE, from, address, rkey);
	if (!status)
		status = move(IBV_WR_RDMA_READ, back, address, rkey);
	if (status) {
		say(way, 0, ibv_wc_status_str(status));
	} else if (memcmp(from, memory, LENGTH) || memcmp(from, back, LENGTH)) {
		say(way, 0, "not the bytes that were written");
	} else {
		snprintf(text, sizeof(text),
			 "%d bytes there and back, key %#x, address %#jx",
			 LENGTH, rkey, (uintmax_t)address);
		say(way, 1, text);
	}
}

static void show(const char *way, struct ibv_mr *mr, uint64_t address,
		 const char *memory)
{
	if (mr)
		show_key(way, mr->rkey, address, memory);
	else
		cannot(way);
}

static void end(struct ibv_mr *mr)
{
	need(!mr || !ibv_dereg_mr(mr), "ibv_dereg_mr");
}

static void pinned(void)
{
	char *memory = map(LENGTH + 100, 0) + 100; /* any alignment will do */
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, LENGTH, FULL);

	show("ibv_reg_mr", mr, (uintptr_t)memory, memory);
	end(mr);
	mr = ibv_reg_mr(pd, memory, LENGTH, FULL | IBV_ACCESS_RELAXED_ORDERING);
	show("  RELAXED_ORDERING", mr, (uintptr_t)memory, memory);
	end(mr);
	mr = ibv_reg_mr(pd, memory, LENGTH, FULL | IBV_ACCESS_ZERO_BASED);
	show("  ZERO_BASED", mr, 0, memory);
	end(mr);
	/* Any base address with the same offset in a page as the memory. */
	mr = ibv_reg_mr_iova(pd, memory, LENGTH, (7ULL << 40) + 100, FULL);
	show("ibv_reg_mr_iova", mr, (7ULL << 40) + 100, memory);
	end(mr);
}

static void on_demand(void)
{
	char *memory = map(LENGTH, 0), *late, *huge;
	struct ibv_mr *mr =
		ibv_reg_mr(pd, memory, LENGTH, FULL | IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge;

	show("ibv_reg_mr, ON_DEMAND", mr, (uintptr_t)memory, memory);
	if (mr) {
		sge = (struct ibv_sge){ (uintptr_t)memory, LENGTH, mr->lkey };
		madvise(memory, LENGTH,
			MADV_DONTNEED); /* removes the pages ... */
		errno = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
		if (errno) /* ... which are fetched again in advance */
			cannot("  ibv_advise_mr");
		else
			show("  ibv_advise_mr, new pages", mr,
			     (uintptr_t)memory, memory);
	}
	end(mr);
	mr = ibv_reg_mr(pd, NULL, SIZE_MAX, FULL | IBV_ACCESS_ON_DEMAND);
	late = map(LENGTH, 0);
	show("  all of the process", mr, (uintptr_t)late, late);
	end(mr);
	huge = map(HUGE_PAGE, MAP_HUGETLB);
	if (huge == MAP_FAILED)
		return absent("  HUGETLB", "the machine has no huge pages");
	mr = ibv_reg_mr(pd, huge, HUGE_PAGE,
			FULL | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB);
	show("  HUGETLB", mr, (uintptr_t)huge, huge);
	end(mr);
}

/* A dma-buf of ordinary memory, in place of one that a driver exports. */
static void dmabuf(void)
{
	struct udmabuf_create create = { .size = 4 * LENGTH };
	int dev = open("/dev/udmabuf", O_RDWR), fd = -1;
	int memfd = memfd_create("tour", MFD_ALLOW_SEALING);
	struct ibv_mr *mr;
	char *memory;

	need(!ftruncate(memfd, create.size), "ftruncate");
	fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK);
	create.memfd = memfd;
	if (dev >= 0)
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	if (fd < 0)
		return cannot("ibv_reg_dmabuf_mr");
	memory = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      memfd, 0);
	/* From its byte 5000 on. Offset and base have the same offset in a page. */
	mr = ibv_reg_dmabuf_mr(pd, 5000, LENGTH, 5000, fd, FULL);
	show("ibv_reg_dmabuf_mr", mr, 5000, memory + 5000);
	end(mr);
	mr = mlx5dv_reg_dmabuf_mr(pd, 8192, LENGTH, 0, fd, FULL,
				  MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT);
	close(fd); /* the region keeps the dma-buf */
	show("mlx5dv_reg_dmabuf_mr, DATA_DIRECT", mr, 0, memory + 8192);
	end(mr);
}

/* Pinned memory without a key (a umem), and a key for it by a DEVX command. */
static void umem(void)
{
	char *memory = map(LENGTH, 0);
	struct mlx5dv_devx_umem_in in = {
		.addr = memory,
		.size = LENGTH,
		.access = FULL,
		.pgsz_bitmap =
			sysconf(_SC_PAGESIZE), /* blocks of this size only */
	};
	struct mlx5dv_devx_umem *umem = mlx5dv_devx_umem_reg_ex(ctx, &in);
	struct mlx5dv_devx_obj *key;
	uint32_t rkey;

	if (!umem)
		return cannot("mlx5dv_devx_umem_reg_ex");
	key = key_make(pd, umem, 0, LENGTH, &rkey);
	need(!!key, "a key over the umem");
	show_key("mlx5dv_devx_umem_reg_ex", rkey, 0, memory);
	need(!mlx5dv_devx_obj_destroy(key) && !mlx5dv_devx_umem_dereg(umem),
	     "mlx5dv_devx_umem_dereg");
}

static void changed(void)
{
	char *memory = map(LENGTH, 0), *other = map(LENGTH, 0);
	struct ibv_mr *mr =
		ibv_reg_mr(pd, memory, LENGTH, IBV_ACCESS_LOCAL_WRITE);

	need(!!mr, "ibv_reg_mr");
	if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, FULL))
		cannot("ibv_rereg_mr, CHANGE_ACCESS");
	else
		show("ibv_rereg_mr, CHANGE_ACCESS", mr, (uintptr_t)memory,
		     memory);
	if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other,
			 LENGTH, 0))
		cannot("ibv_rereg_mr, CHANGE_TRANSLATION");
	else
		show("ibv_rereg_mr, CHANGE_TRANSLATION", mr, (uintptr_t)other,
		     other);
	end(mr);
}

/* By libpinion-rpma, which also has connections and descriptors of memory. */
static void by_rpma(void)
{
	char *memory = map(LENGTH, 0), address[INET6_ADDRSTRLEN], wire[32];
	static const char port[] = "7777", way[] = "rpma_mr_reg";
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *src, *dst;
	struct rpma_conn *a, *b;
	struct rpma_conn_req *req;
	enum rpma_conn_event event;
	struct ibv_context *cm;
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	struct rpma_cq *done;
	struct ibv_wc wc;
	size_t size;

	/* Without an IPv4 address there is none to connect to. */
	inet_ntop(AF_INET, gid.raw + 12, address, sizeof(address));
	if (rpma_utils_get_ibv_context(address, RPMA_UTIL_IBV_CONTEXT_LOCAL,
				       &cm) ||
	    rpma_peer_new(cm, &peer) ||
	    rpma_ep_listen(peer, address, port, &ep))
		return cannot(way);
#define MUST(call) need(!(call), #call)
	MUST(rpma_conn_req_new(peer, address, port, NULL, &req));
	MUST(rpma_conn_req_connect(&req, NULL, &a));
	MUST(rpma_ep_next_conn_req(ep, NULL, &req));
	MUST(rpma_conn_req_connect(&req, NULL, &b));
	MUST(rpma_conn_next_event(a, &event));
	MUST(rpma_conn_next_event(b, &event));
	MUST(rpma_mr_reg(peer, from, LENGTH, RPMA_MR_USAGE_WRITE_SRC, &src));
	MUST(rpma_mr_reg(peer, memory, LENGTH, RPMA_MR_USAGE_WRITE_DST, &dst));
	/* A program sends these bytes to its peer. */
	MUST(rpma_mr_get_descriptor(dst, wire));
	MUST(rpma_mr_get_descriptor_size(dst, &size));
	MUST(rpma_mr_remote_from_descriptor(wire, size, &remote));
	MUST(rpma_conn_get_cq(a, &done));
	MUST(rpma_write(a, remote, 0, src, 0, LENGTH, RPMA_F_COMPLETION_ALWAYS,
			NULL));
	MUST(rpma_cq_wait(done));
	MUST(rpma_cq_get_wc(done, 1, &wc, NULL));
	say(way, !wc.status && !memcmp(from, memory, LENGTH),
	    "bytes written by a descriptor, over a connection");
	MUST(rpma_mr_remote_delete(&remote));
	MUST(rpma_mr_dereg(&src));
	MUST(rpma_mr_dereg(&dst));
	MUST(rpma_conn_disconnect(a));
	MUST(rpma_conn_delete(&a));
	MUST(rpma_conn_delete(&b));
	MUST(rpma_ep_shutdown(&ep));
	MUST(rpma_peer_delete(&peer));
}

/* This is the last step, as the queue pair enters the error state. */
static void no_more(void)
{
	char *memory = map(LENGTH, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, LENGTH, FULL);
	enum ibv_wc_status status;
	uint32_t rkey = mr->rkey;
	char text[80];

	end(mr);
	status = move(IBV_WR_RDMA_WRITE, from, (uintptr_t)memory, rkey);
	snprintf(text, sizeof(text), "%s: %s",
		 status ? "refused" : "not refused", ibv_wc_status_str(status));
	say("ibv_dereg_mr, then a write", status == IBV_WC_REM_ACCESS_ERR,
	    text);
}

static const char help[] =
	"Usage: pinion-mr-tour [DEVICE]\n"
	"\n"
	"Registers memory on DEVICE (default: the first) in each way there is, lets the\n"
	"device write random bytes to it and read them back, and says what happened.\n"
	"\n"
	"  -h, --help\n"
	"      --version\n"
	"\n"
	"Exit status: 0 if no byte was wrong, else 1. What a device cannot do is a line\n"
	"that says why, and not an error.\n";

/* Returns the name of the device, or NULL. */
static char *parse(int argc, char **argv)
{
	char *arg = argv[1];

	if (argc < 2)
		return NULL;
	if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
		fputs(help, stdout);
		exit(0);
	}
	if (!strcmp(arg, "--version")) {
		puts("pinion-mr-tour " PINION_VERSION);
		exit(0);
	}
	if (argc > 2 || *arg == '-') {
		fprintf(stderr, "pinion-mr-tour: `%s'? see --help\n",
			argc > 2 ? argv[2] : arg);
		exit(1);
	}
	return arg;
}

int main(int argc, char **argv)
{
	loop_open(parse(argc, argv), FULL);
	from = map(2 * LENGTH, 0);
	back = from + LENGTH;
	ours = ibv_reg_mr(pd, from, 2 * LENGTH, IBV_ACCESS_LOCAL_WRITE);
	need(!!ours, "ibv_reg_mr");
	pinned();
	on_demand();
	dmabuf();
	umem();
	changed();
	by_rpma();
	no_more();
	return wrong;
}
