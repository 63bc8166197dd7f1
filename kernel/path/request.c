// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requests that a send queue has begun; see request.h.
 */
#include <linux/slab.h>

#include "request.h"

int pinion_requests_init(struct pinion_requests *requests, u32 depth, size_t stride)
{
	u32 i;

	*requests = (struct pinion_requests){ .depth = depth };
	requests->slots = kcalloc(depth, sizeof(*requests->slots), GFP_KERNEL_ACCOUNT);
	requests->wqes = kcalloc(depth, stride, GFP_KERNEL_ACCOUNT);
	if (!requests->slots || !requests->wqes) {
		pinion_requests_destroy(requests);
		return -ENOMEM;
	}
	for (i = 0; i < depth; i++)
		requests->slots[i].wqe = requests->wqes + i * stride;
	return 0;
}

void pinion_requests_destroy(struct pinion_requests *requests)
{
	kfree(requests->slots);
	kfree(requests->wqes);
	requests->slots = NULL;
	requests->wqes = NULL;
}

struct pinion_request *pinion_requests_add(struct pinion_requests *requests)
{
	struct pinion_request *request;

	if (pinion_requests_count(requests) >= requests->depth)
		return NULL;
	request = &requests->slots[requests->next & (requests->depth - 1)];
	/* @payload and @sink are set when the request is begun, so they are not cleared here. */
	request->op = NULL;
	request->length = 0;
	request->begun = false;
	request->copying = false;
	request->answered = false;
	request->stuck = false;
	request->at = 0;
	request->token = 0;
	request->fault_err = 0;
	WRITE_ONCE(requests->next, requests->next + 1);
	return request;
}

void pinion_requests_retire(struct pinion_requests *requests)
{
	WRITE_ONCE(requests->oldest, requests->oldest + 1);
}

void pinion_requests_forget(struct pinion_requests *requests)
{
	WRITE_ONCE(requests->oldest, requests->next);
}
