/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * uverbs commands built by hand: commands that no library would send, and verbs without
 * any code of a library around the system call.
 */
#ifndef PINION_TEST_RAW_H
#define PINION_TEST_RAW_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

struct raw {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[24];
};

/* The driver id that all calls carry, of enum rdma_driver_id; by default pinion's. */
extern uint32_t raw_driver;

void raw_begin(struct raw *raw, uint16_t object, uint16_t method);
/* Each returns the attribute, which the test may corrupt. Short inputs go inline. */
struct ib_uverbs_attr *raw_in(struct raw *raw, uint16_t id, const void *data,
			      size_t length);
struct ib_uverbs_attr *raw_out(struct raw *raw, uint16_t id, void *data,
			       size_t length);
struct ib_uverbs_attr *raw_handle(struct raw *raw, uint16_t id,
				  uint64_t handle);
/* 0 or a positive errno. */
int raw_call(int fd, struct raw *raw);

/* A command of the older interface: @command of enum ib_uverbs_write_cmds. */
int raw_command(int fd, uint32_t command, const void *in, size_t in_length,
		void *out, size_t out_length);

/* Data for the driver, and room for its answer; a part of length 0 is left out. */
struct raw_payload {
	const void *in;
	size_t in_length;
	void *out;
	size_t out_length;
};

/* The same with data for the driver. */
int raw_driver_command(int fd, uint32_t command, const void *in,
		       size_t in_length, void *out, size_t out_length,
		       const struct raw_payload *payload);

int raw_create_cq(int fd, uint32_t cqe, const struct raw_payload *payload,
		  uint32_t *handle);
/* RC with @wr requests of one sge in either queue; @srq is a handle, or -1. */
int raw_create_qp(int fd, uint32_t pd, uint32_t cq, int64_t srq, uint32_t wr,
		  const struct raw_payload *payload, uint32_t *handle);
/* The same, and its number. */
int raw_create_qp_of(int fd, uint32_t pd, uint32_t cq, int64_t srq, uint32_t wr,
		     const struct raw_payload *payload, uint32_t *handle,
		     uint32_t *qpn);
int raw_create_srq(int fd, uint32_t pd, uint32_t wr,
		   const struct raw_payload *payload, uint32_t *handle);
/* @object: UVERBS_OBJECT_CQ, _QP or _SRQ. */
int raw_destroy_queue(int fd, uint16_t object, uint32_t handle);

/* A umem of any page sizes, which the device may write to. */
int raw_reg_umem(int fd, const void *addr, uint64_t length, uint32_t *handle,
		 uint32_t *id);

int raw_doorbell(int fd, uint32_t qp_handle);
int raw_dereg_mr(int fd, uint32_t handle);
/* As ibv_modify_qp(), but the provider does not touch the rings of the queue pair. */
int raw_modify_qp(int fd, uint32_t handle, const struct ibv_qp_attr *attr,
		  int mask);
int raw_rereg_mr(int fd, const struct ib_uverbs_rereg_mr *cmd);

#endif /* PINION_TEST_RAW_H */
