/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device under test, opened, with one protection domain. Every test starts with
 * this. There is one for each process.
 */
#ifndef PINION_TEST_DEVICE_H
#define PINION_TEST_DEVICE_H

#include <infiniband/verbs.h>
#include <rdma/pinion-abi.h>

#include "harness.h"

struct device {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
	bool pinion; /* a pinion device */
	bool persistent; /* supports FLUSH to persistence */
	int wire; /* pinion: 0 it has no packets, 1 to other hosts only, 2 to all peers */
	bool packets; /* sends packets even to peers on this host */
	const char *net; /* its network namespace; NULL: ours */
};

extern struct device dev;

/* NULL if there is a device to test, else the reason why there is none. */
const char *device_missing(void);

/* Fill dev; the test fails if that fails. */
void device_open(void);

/*
 * The RoCE v2 address of @device of one family; of IPv6 the one in fd00::/8. The second function
 * also uses it for what is connected from now on.
 */
struct ibv_gid_entry device_address(const struct device *device, bool v6);
struct ibv_gid_entry device_use_address(struct device *device, bool v6);

/* Waits until @device has this RoCE v2 address, and returns its index. */
int device_await_gid(const struct device *device, const union ibv_gid *gid);
/* Likewise of an address as text, which is used for what is connected from now on. */
void device_use_gid(struct device *device, const char *text);

/*
 * Open another one, by its name, which is in namespace @net, NULL: ours. -1 chooses one of its
 * addresses as device_open() does.
 */
void device_open_named(struct device *device, const char *named,
		       const char *net, int gid_index);

/*
 * The device at the other end of a cable. The environment names it (FAR), its network namespace
 * (FAR_NET), and the index of its GID if that is not to be an IPv4 one (FAR_GID). Call
 * device_open() first. far_open() skips the test if FAR is not set.
 */
extern struct device far_dev;
void far_open(void);
/*
 * Where tests that can be between two devices have the second ends of their connections, and what is
 * registered there: far_dev if FAR is set, opened by the first call; else dev.
 */
const struct device *device_across(void);
/* The largest path MTU that both dev and device_across() have. */
enum ibv_mtu common_mtu(void);
/* Enter the network namespace of @device; return to the previous one. */
void device_enter(const struct device *device);
void device_leave(const struct device *device);

/* Open another context of the same device. */
struct ibv_context *device_another(void);
/* A context of another device of the same kind; NULL if there is none. */
struct ibv_context *device_beside(void);

/* Read a counter of /sys/class/infiniband/DEVICE/ports/1/hw_counters; -1 if there is none. */
long long device_counter(const char *name);
/* The same of @device. */
long long device_counter_of(const struct device *device, const char *name);
/* As device_counter(), as of now: the kernel reads counters anew only some times a second. */
long long device_counter_now(const char *name);

/* Waits until this counter is @want: the kernel shows values that may be a little old. */
#define counter_await(name, want) \
	counter_await_at(__FILE__, __LINE__, name, want)
void counter_await_at(const char *file, int line, const char *name,
		      long long want);
/* Waits until it is at least @least. */
void counter_await_least(const char *name, long long least);

/* The name of the device, as of `rdma link'. */
const char *device_name(void);
/* dev.pinion for who has not opened it; false if there is no such device any more. */
bool device_is_pinion(void);
/*
 * Must there be our files in debugfs, and the list of dma-bufs? Other drivers have none, only root reads
 * them, and of all machines only our beds are sure to have debugfs.
 */
bool debugfs_is_due(void);

/*
 * The device lacks what a test needs: skips the test, but a pinion device has it all, and the test
 * fails.
 */
#define lacks(...) lacks_at(__FILE__, __LINE__, __VA_ARGS__)
void lacks_at(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/* Skip the test unless it runs as root; unless the device has ODP, or implicit regions, as by lacks(). */
void need_root(void);
void need_odp(void);
void need_implicit(void);

/* Read a standard counter, of ports/1/counters; the test fails if there is none. */
uint64_t port_counter(const char *name);

/* What the port has sent and received, by its standard counters; data in units of four bytes. */
struct port_traffic {
	uint64_t xmit_data, rcv_data, xmit_packets, rcv_packets;
};
struct port_traffic port_traffic(void);

#endif /* PINION_TEST_DEVICE_H */
