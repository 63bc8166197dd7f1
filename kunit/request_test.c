// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests of a send queue: adding and retiring, against counting.
 */
#include <kunit/test.h>

#include "random.h"

#include "../kernel/path/request.c"

#define STRIDE	96
#define STEPS	2000

static void make_requests(struct kunit *test, struct pinion_requests *requests, u32 depth)
{
	KUNIT_ASSERT_EQ(test, pinion_requests_init(requests, depth, STRIDE), 0);
	/* Close to the limit, so that both indices wrap. */
	requests->oldest = U32_MAX - 3;
	requests->next = U32_MAX - 3;
}

static void requests_retire_in_the_order_they_were_begun(struct kunit *test)
{
	u32 depth, step, begun, retired;
	struct pinion_request *request;
	struct pinion_requests requests;
	struct rnd_state rnd;

	random_begin(&rnd, 0x7e9);
	for (depth = 1; depth <= 8; depth *= 2) {
		make_requests(test, &requests, depth);
		for (step = 0, begun = 0, retired = 0; step < STEPS; step++) {
			if (random_below(&rnd, 2)) {
				request = pinion_requests_add(&requests);
				KUNIT_ASSERT_EQ(test, !!request, begun - retired < depth);
				if (request)
					request->wqe->wr_id = begun++;
			} else {
				request = pinion_requests_oldest(&requests);
				KUNIT_ASSERT_EQ(test, !!request, begun != retired);
				if (!request)
					continue;
				KUNIT_EXPECT_EQ(test, request->wqe->wr_id, retired);
				pinion_requests_retire(&requests);
				retired++;
			}
			KUNIT_EXPECT_EQ(test, pinion_requests_count(&requests), begun - retired);
		}
		pinion_requests_destroy(&requests);
	}
}

/* The copies of two requests do not overlap. */
static void requests_share_no_byte(struct kunit *test)
{
	struct pinion_requests requests;
	struct pinion_request *request;
	u32 i;

	make_requests(test, &requests, 4);
	for (i = 0; i < 4; i++)
		memset(pinion_requests_add(&requests)->wqe, i + 1, STRIDE);
	KUNIT_EXPECT_NULL(test, pinion_requests_add(&requests));
	for (i = 0; i < 4; i++) {
		request = pinion_requests_oldest(&requests);
		KUNIT_EXPECT_NULL(test, memchr_inv(request->wqe, i + 1, STRIDE));
		pinion_requests_retire(&requests);
	}
	pinion_requests_destroy(&requests);
}

static void a_request_begins_as_if_none_had_been_there(struct kunit *test)
{
	struct pinion_requests requests;
	struct pinion_request *request;

	make_requests(test, &requests, 1);
	request = pinion_requests_add(&requests);
	request->op = (void *)request;
	request->length = 1;
	request->begun = true;
	request->answered = true;
	request->token = 1;
	request->fault_err = -EFAULT;
	pinion_requests_forget(&requests);
	KUNIT_EXPECT_NULL(test, pinion_requests_oldest(&requests));

	request = pinion_requests_add(&requests);
	KUNIT_EXPECT_PTR_EQ(test, request, pinion_requests_oldest(&requests));
	KUNIT_EXPECT_NULL(test, request->op);
	KUNIT_EXPECT_EQ(test, request->length, 0);
	KUNIT_EXPECT_FALSE(test, request->begun);
	KUNIT_EXPECT_FALSE(test, request->answered);
	KUNIT_EXPECT_EQ(test, request->token, 0);
	KUNIT_EXPECT_EQ(test, request->fault_err, 0);
	pinion_requests_destroy(&requests);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(requests_retire_in_the_order_they_were_begun),
	KUNIT_CASE(requests_share_no_byte),
	KUNIT_CASE(a_request_begins_as_if_none_had_been_there),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_request",
	.test_cases = cases,
};

kunit_test_suites(&suite);
