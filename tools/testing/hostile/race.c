// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads destroy, modify, post to and poll the same objects at the same time, by raw commands:
 * no interleaving may do harm (items P1 to P6).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"
#include "resources.h"
#include "rings.h"
#include "victim.h"

enum { SLOTS = 4, THREADS = 6, LEN = 20000 };

/* Objects that are destroyed and replaced. Memory of a slot itself is never freed. */
static struct slot {
	struct raw_end a, b;
	_Atomic bool there;
	pthread_mutex_t rings; /* for writers of the rings, as in the provider */
} slots[SLOTS];

static struct region from, to;
static struct ibv_mr *shared_mr;
static _Atomic bool stop;
/* Counts per thread; completed: requests that succeeded. */
static _Atomic unsigned long count[7], completed;

static int destroy(uint16_t object, uint16_t method, uint16_t id,
		   uint16_t resp_id, size_t resp, uint32_t handle)
{
	uint8_t answer[64];
	struct raw raw;

	raw_begin(&raw, object, method);
	raw_handle(&raw, id, handle);
	if (resp)
		raw_out(&raw, resp_id, answer, resp);
	return raw_call(dev.ctx->cmd_fd, &raw);
}

static int destroy_qp(uint32_t handle)
{
	return destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY,
		       UVERBS_ATTR_DESTROY_QP_HANDLE,
		       UVERBS_ATTR_DESTROY_QP_RESP,
		       sizeof(struct ib_uverbs_destroy_qp_resp), handle);
}

static int destroy_cq(uint32_t handle)
{
	return destroy(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY,
		       UVERBS_ATTR_DESTROY_CQ_HANDLE,
		       UVERBS_ATTR_DESTROY_CQ_RESP,
		       sizeof(struct ib_uverbs_destroy_cq_resp), handle);
}

static void connect_slot(struct slot *slot)
{
	struct peer a = end_peer(&slot->a.end), b = end_peer(&slot->b.end);

	end_set_state(&slot->a.end, IBV_QPS_RESET);
	end_set_state(&slot->b.end, IBV_QPS_RESET);
	end_try_init(&slot->a.end);
	end_try_init(&slot->b.end);
	if (!end_to_rtr(&slot->a.end, &b))
		end_to_rts(&slot->a.end);
	if (!end_to_rtr(&slot->b.end, &a))
		end_to_rts(&slot->b.end);
	raw_end_reset(&slot->a);
	raw_end_reset(&slot->b);
}

static void fill_slot(struct slot *slot)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_UD };
	struct qp_cfg cfg = { .type = types[rnd_below(3)],
			      .timeout = 1,
			      .retry = 1,
			      .rnr_timer = 1,
			      .rnr_retry = 1 };

	struct raw_end a, b;

	/* Readers take no lock: they see the old objects or the new ones. */
	raw_end_make(&a, &cfg);
	raw_end_make(&b, &cfg);
	slot->a = a;
	slot->b = b;
	connect_slot(slot);
	slot->there = true;
}

static void unmap(struct raw_end *raw)
{
	int err;

	/* EBUSY while another call uses it. */
	while ((err = destroy_qp(raw->end.qp->handle)))
		CHECK_EQ(err, EBUSY);
	CHECK_EQ(destroy_cq(raw->end.scq->handle), 0);
	munmap((void *)raw->sq.hdr, raw->sq.length);
	if (raw->rq.hdr)
		munmap((void *)raw->rq.hdr, raw->rq.length);
	munmap((void *)raw->cq.hdr, raw->cq.length);
}

static struct slot *some_slot(uint64_t *state)
{
	return &slots[rnd_next(state) % SLOTS];
}

static struct pinion_sq_wqe *some_request(struct slot *slot, uint64_t number)
{
	struct pinion_sq_wqe *wqe = ring_wqe(&slot->a.sq);
	struct pinion_sge *sge = wqe_sges(wqe);

	wqe->opcode = number & 7;
	wqe->flags = PINION_WQE_SIGNALED;
	wqe->num_sge = wqe->opcode == PINION_OP_LOCAL_INV ? 0 : 1;
	wqe->rdma.remote_addr = to.base;
	wqe->rdma.rkey = number >> 8 & 3 ? to.rkey : shared_mr->rkey;
	if (wqe->opcode == PINION_OP_ATOMIC_CMP_AND_SWP ||
	    wqe->opcode == PINION_OP_ATOMIC_FETCH_AND_ADD) {
		wqe->atomic.remote_addr = (to.base + 7) & ~7ULL;
		wqe->atomic.rkey = to.rkey;
	}
	sge->addr = from.base;
	sge->length = number >> 16 & 1 ? LEN : 8;
	sge->lkey = from.lkey;
	return wqe;
}

/* Drops the completions, but counts the successful ones. */
static void take_completions(struct ring *cq)
{
	uint32_t i, end = __atomic_load_n(&cq->hdr->kern_idx, __ATOMIC_ACQUIRE);

	for (i = cq->hdr->user_idx; i != end; i++) {
		const struct pinion_cqe *cqe =
			(void *)(cq->slots +
				 (size_t)(i & (cq->entries - 1)) * cq->stride);

		if (cqe->status == IBV_WC_SUCCESS)
			__atomic_add_fetch(&completed, 1, __ATOMIC_RELAXED);
	}
	cq->hdr->user_idx = end;
}

/* Posts and rings in any state. */
static void *poster(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	while (!stop) {
		struct slot *slot = some_slot(&state);

		pthread_mutex_lock(&slot->rings);
		if (slot->there) {
			some_request(slot, rnd_next(&state));
			ring_publish(&slot->a.sq, 1);
			if (slot->b.rq.hdr) {
				ring_recv(&slot->b.rq)->num_sge = 0;
				ring_publish(&slot->b.rq, 1);
			}
			take_completions(&slot->a.cq);
			slot->b.cq.hdr->user_idx = slot->b.cq.hdr->kern_idx;
		}
		pthread_mutex_unlock(&slot->rings);
		/* Without the lock: the kernel must cope with parallel doorbells. */
		raw_doorbell(dev.ctx->cmd_fd, slot->a.end.qp->handle);
		raw_doorbell(dev.ctx->cmd_fd, slot->b.end.qp->handle);
		__atomic_add_fetch(&count[0], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Moves queue pairs through their states. */
static void *changer(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	while (!stop) {
		struct slot *slot = some_slot(&state);

		switch (rnd_next(&state) % 8) {
		case 0:
			end_set_state(&slot->a.end, IBV_QPS_ERR);
			break;
		case 1:
			end_set_state(&slot->b.end, IBV_QPS_RESET);
			break;
		case 2:
			end_set_state(&slot->a.end, IBV_QPS_SQD);
			break;
		case 3:
			end_set_state(&slot->a.end, IBV_QPS_RTS);
			break;
		default:
			pthread_mutex_lock(&slot->rings);
			if (slot->there)
				connect_slot(slot);
			pthread_mutex_unlock(&slot->rings);
		}
		__atomic_add_fetch(&count[1], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Destroys and replaces queue pairs. */
static void *destroyer(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	while (!stop) {
		struct slot *slot = some_slot(&state);

		usleep(rnd_next(&state) % 2048);
		pthread_mutex_lock(&slot->rings);
		slot->there = false;
		/* Refused, because it is in use. */
		CHECK_EQ(destroy_cq(slot->a.end.scq->handle), EBUSY);
		unmap(&slot->a);
		unmap(&slot->b);
		fill_slot(slot);
		pthread_mutex_unlock(&slot->rings);
		__atomic_add_fetch(&count[2], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Changes a region that is in use. */
static void *region_changer(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	while (!stop) {
		struct ib_uverbs_rereg_mr cmd = {
			.mr_handle = shared_mr->handle,
			.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
			.start = (uintptr_t)to.buf->data,
			.hca_va = (uintptr_t)to.buf->data,
		};

		cmd.length = rnd_next(&state) % LEN + 1;
		if (!raw_rereg_mr(dev.ctx->cmd_fd, &cmd))
			__atomic_add_fetch(&count[3], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Threads post to, change and destroy the same queue pairs and regions: a bystander goes on. */
static void p1_queue_pairs(void)
{
	static void *(*const roles[THREADS])(void *) = {
		poster, poster, changer, changer, destroyer, region_changer
	};
	volatile struct victim *v = victim_start();
	double end = now() + opt.seconds;
	pthread_t threads[THREADS];
	long i;

	if (!dev.pinion)
		skip("only pinion has these rings");
	from = region_new(LEN, 5, ALL_ACCESS);
	to = region_new(LEN, 9, ALL_ACCESS);
	shared_mr = MUST(ibv_reg_mr(dev.pd, to.buf->data, LEN, ALL_ACCESS));
	for (i = 0; i < SLOTS; i++) {
		pthread_mutex_init(&slots[i].rings, NULL);
		fill_slot(&slots[i]);
	}
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, roles[i],
					(void *)rnd()),
			 0);
	while (go_on(end, count[1] && count[2] && count[3] && completed))
		usleep(10000);
	stop = true;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	note("%lu posts, %lu changes, %lu destroyed, %lu reregs, %lu went well",
	     count[0], count[1], count[2], count[3], completed);
	CHECK(count[1] && count[2] && count[3] && completed);
	victim_end(v);
}

/* ------------------------------------------- all threads use the same handle */

static uint32_t handle;

static void *dereg_thread(void *arg)
{
	while (!stop) {
		uint32_t h = __atomic_load_n(&handle, __ATOMIC_RELAXED);

		if (h != UINT32_MAX && !raw_dereg_mr(dev.ctx->cmd_fd, h))
			__atomic_add_fetch((unsigned long *)arg, 1,
					   __ATOMIC_RELAXED);
	}
	return NULL;
}

static unsigned long changed; /* atomic */

static void *rereg_thread(void *arg)
{
	struct buf *buf = arg;

	while (!stop) {
		struct ib_uverbs_rereg_mr cmd = {
			.mr_handle = handle,
			.flags = 7,
			.start = (uintptr_t)buf->data,
			.hca_va = (uintptr_t)buf->data,
			.length = buf->length,
			.pd_handle = dev.pd->handle,
			.access_flags = ALL_ACCESS,
		};

		if (!raw_rereg_mr(dev.ctx->cmd_fd, &cmd))
			__atomic_add_fetch(&changed, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Several threads deregister the same region: one succeeds. */
static void p2_dereg(void)
{
	struct buf *buf = buf_new(50000, 9);
	double end = now() + opt.seconds;
	unsigned long made = 0, ended = 0;
	pthread_t threads[5];
	int i;

	handle = UINT32_MAX;
	for (i = 0; i < 5; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL,
					i < 3 ? dereg_thread : rereg_thread,
					i < 3 ? (void *)&ended : buf),
			 0);
	while (go_on(end, __atomic_load_n(&changed, __ATOMIC_RELAXED))) {
		double limit = now() + patience(PATIENCE);
		struct ibv_mr *mr;

		mr = MUST(ibv_reg_mr(dev.pd, buf->data, 5000, ALL_ACCESS));
		made++;
		__atomic_store_n(&handle, mr->handle, __ATOMIC_RELAXED);
		while (__atomic_load_n(&ended, __ATOMIC_RELAXED) < made) {
			if (now() > limit)
				FAIL("a region cannot be ended");
			usleep(10);
		}
	}
	stop = true;
	for (i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	note("%lu regions, changed %lu times", made, changed);
	CHECK_EQ(ended, made);
	CHECK(changed);
}

static void *window_thread(void *arg)
{
	struct link *link = arg;

	while (!stop) {
		struct ibv_mw *mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
		struct ibv_mw_bind bind = {
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = { .mr = shared_mr,
				       .addr = to.base,
				       .length = LEN,
				       .mw_access_flags =
					       IBV_ACCESS_REMOTE_WRITE },
		};

		CHECK_EQ(ibv_bind_mw(link->a.qp, mw, &bind), 0);
		if (await(link->a.scq).status == IBV_WC_SUCCESS)
			__atomic_add_fetch(&count[4], 1, __ATOMIC_RELAXED);
		else
			link_renew(link);
		CHECK_EQ(ibv_dealloc_mw(mw), 0);
	}
	return NULL;
}

/* Windows are bound and unbound while the region is deregistered. */
static void p3_windows(void)
{
	unsigned long ended = 0, busy = 0;
	double end = now() + opt.seconds;
	pthread_t threads[2];
	struct link links[2];
	int i;

	to = region_new(LEN, 9, ALL_ACCESS);
	shared_mr = MUST(ibv_reg_mr(dev.pd, to.buf->data, LEN,
				    ALL_ACCESS | IBV_ACCESS_MW_BIND));
	for (i = 0; i < 2; i++) {
		link_make(&links[i], NULL);
		CHECK_EQ(pthread_create(&threads[i], NULL, window_thread,
					&links[i]),
			 0);
	}
	while (go_on(end, busy && count[4])) {
		struct ib_uverbs_rereg_mr cmd = {
			.mr_handle = shared_mr->handle,
			.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
			.start = (uintptr_t)to.buf->data,
			.hca_va = (uintptr_t)to.buf->data,
			.length = LEN,
		};
		struct ibv_mr *old = shared_mr, *new;
		double limit;
		int err;

		raw_rereg_mr(dev.ctx->cmd_fd, &cmd);
		new = MUST(ibv_reg_mr(dev.pd, to.buf->data, LEN,
				      ALL_ACCESS | IBV_ACCESS_MW_BIND));
		shared_mr = new;
		limit = now() + patience(PATIENCE);
		while ((err = raw_dereg_mr(dev.ctx->cmd_fd, old->handle))) {
			CHECK_EQ(err, EBUSY);
			busy++;
			CHECK(now() < limit);
		}
		ended++;
	}
	stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	note("%lu regions, %lu times busy, %lu binds", ended, busy, count[4]);
	/* Deregistration was refused at least once because of a window. */
	CHECK(busy && count[4]);
}

static void *mcast_thread(void *arg)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 7, 7, 7 } };
	struct qp_cfg cfg = { .type = IBV_QPT_UD };

	while (!stop) {
		struct ibv_ah_attr attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = gid, .sgid_index = dev.gid_index },
		};
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED };
		/* Room for the GRH of a datagram. */
		struct ibv_sge sge = sge_of(&to, 0, 40);
		struct link link;
		struct ibv_wc wc;

		link_make(&link, &cfg);
		CHECK_EQ(ibv_attach_mcast(link.b.qp, &gid, 0), 0);
		wr.wr.ud.ah = MUST(ibv_create_ah(dev.pd, &attr));
		wr.wr.ud.remote_qpn = 0xffffff;
		wr.wr.ud.remote_qkey = QKEY;
		post_recv(&link.b, &sge, 1, 0);
		post(&link.a, &wr);
		expect(await(link.a.scq), IBV_WC_SUCCESS);
		if (poll_one(link.b.rcq, &wc) && wc.status == IBV_WC_SUCCESS)
			__atomic_add_fetch(&completed, 1, __ATOMIC_RELAXED);
		CHECK_EQ(ibv_destroy_ah(wr.wr.ud.ah), 0);
		if ((uintptr_t)arg & 1)
			CHECK_EQ(ibv_detach_mcast(link.b.qp, &gid, 0), 0);
		else
			ibv_detach_mcast(link.b.qp, &gid, 0);
		link_free(&link);
		__atomic_add_fetch(&count[5], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* QPs join and leave a group under traffic. */
static void p4_groups(void)
{
	double end = now() + opt.seconds;
	pthread_t threads[4];
	long i;

	to = region_new(40, 9, ALL_ACCESS);

	for (i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, mcast_thread,
					(void *)i),
			 0);
	while (go_on(end, completed))
		usleep(10000);
	stop = true;
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	note("%lu members, %lu of them got a message", count[5], completed);
	CHECK(completed);
}

static void *queues_thread(void *arg)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1 } };
	struct link link;

	(void)arg;
	while (!stop) {
		struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));

		end_make(&link.a, NULL);
		end_make(&link.b, &(struct qp_cfg){ .srq = srq });
		link_free(&link);
		CHECK_EQ(ibv_destroy_srq(srq), 0);
		__atomic_add_fetch(&count[6], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Queues are described by netlink, which any user may ask for, while they are destroyed. */
static void p5_described(void)
{
	double end = now() + opt.seconds;
	pthread_t threads[3];
	unsigned long times, described = 0;
	int i, queues;

	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, queues_thread, NULL),
			 0);
	for (times = 0; go_on(end, described && count[6]); times++) {
		queues = resources_describe();
		CHECK(queues >= 0);
		described += queues;
	}
	stop = true;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	note("%lu times queues were made; in %lu lists there were %lu",
	     count[6], times, described);
	CHECK(described && count[6]);
}

/*
 * Queue pairs end while they wait for a receive request of their peer, which a timer ends and a work
 * item goes on with; and while the work item has requests left that no doorbell has come to.
 */
static void p6_waiting(void)
{
	/* So much that the doorbell leaves the rest to the work item. */
	enum { ROUNDS = 100, WRITES = 64, LENGTH = 8 << 20 };
	long long waits = device_counter("rnr_nak_retry_err");
	struct ibv_send_wr wrs[WRITES];
	struct ibv_sge sge;
	int round, i, done, stopped = 0;
	struct region source, sink;
	struct link link;
	struct ibv_wc wc;

	source = region_new(LENGTH, 5, ALL_ACCESS);
	sink = region_new(LENGTH, 9, ALL_ACCESS);
	sge = sge_of(&source, 0, LENGTH);
	for (i = 0; i < WRITES - 1; i++)
		wrs[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i < WRITES - 2 ? &wrs[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { sink.base, sink.rkey },
		};
	for (round = 0; round < ROUNDS; round++) {
		/* The longest time between two tries, then the shortest. */
		struct qp_cfg cfg = { .rnr_retry = 7,
				      .wr = WRITES,
				      .cqe = WRITES,
				      .rnr_timer = round & 1 ? -1 : 1 };

		link_make(&link, &cfg);
		i = round % 4 > 1 ? WRITES - 1 : 0;
		if (i)
			post(&link.a, wrs);
		post_rdma(&link.a, IBV_WR_SEND, sge_of(&source, 0, 8), 0, 0, i);
		if (round & 2)
			usleep(rnd_below(1000));
		/* The message waits, and all before it was or will be done. */
		CHECK_EQ(end_state(&link.a), IBV_QPS_RTS);
		for (done = 0; poll_one(link.a.scq, &wc); done++) {
			expect(wc, IBV_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, done);
		}
		CHECK(done <= i);
		stopped += done < i;
		link_free(&link);
	}
	note("%d ended before their messages", stopped);
	CHECK(stopped || !dev.pinion);
	if (waits >= 0)
		CHECK(device_counter("rnr_nak_retry_err") >=
		      waits + ROUNDS / 4);
}

static const struct test tests[] = {
	TEST(p1_queue_pairs, "P1 queue pairs and completion queues (class 19)"),
	TEST(p2_dereg, "P2 regions: ended once, changed meanwhile"),
	TEST(p3_windows, "P3 windows bound while the region ends"),
	TEST(p4_groups, "P4 members of groups"),
	TEST(p5_described, "P5 queues that are described"),
	TEST(p6_waiting, "P6 queue pairs end while they wait"),
};

HARNESS_MAIN("Races", tests)
