// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The same lists on rdma_rxe: the calls that it lacks, and those with which it does other things
 * than the model says. They are not made there. Documentation/testing.rst lists them, too.
 */
#define _GNU_SOURCE
#include <string.h>

#include "model.h"

static const struct {
	const char *call, *why;
} lacks[LACKS] = {
	[LACK_TRANSLATION] = { "rereg with other memory", "rxe has no such" },
	[LACK_ZERO_BASED] = { "regions that are zero-based",
			      "rxe has no such" },
	[LACK_ODP_BYTES] = { "bytes from or to memory on demand, but for atomics",
			     "rxe takes those at the start of the page" },
	[LACK_ODP_IOVA] = { "memory on demand at an address of its own",
			    "rxe takes that for the memory's" },
	[LACK_ODP_CHANGE] = { "rereg from pinned to on demand, or back",
			      "rxe says yes, and changes nothing" },
	[LACK_ADVICE_PINNED] = { "advice about pinned regions",
				 "rxe crashes the kernel" },
	[LACK_ADVICE_RANGE] = { "advice beyond the end",
				"rxe crashes the kernel" },
	[LACK_ADVICE_RIGHTS] = { "advice without LOCAL_WRITE",
				 "rxe refuses it" },
	[LACK_LOCAL_STATUS] = { "the status where the sender's memory is refused",
				"rxe now and then says flushed" },
	[LACK_LOCAL_PART] = { "long messages, or of several places, where the sender's memory is refused",
			      "rxe moves what it comes to before" },
	[LACK_RESET] = { "reset of queue pairs at once after an error",
			 "rxe may set them to error once more" },
	[LACK_WINDOW_BOUNDS] = { "messages beyond the end of a window",
				 "rxe lets them into the rest of the region" },
	[LACK_WINDOW_ZERO] = { "zero-based windows beyond the end of a region",
			       "rxe binds them" },
	[LACK_WINDOW_DOMAIN] = { "windows on regions of another domain",
				 "rxe binds them" },
	[LACK_WINDOW_REREG] = { "rereg of regions with windows",
				"rxe changes them under the windows" },
	[LACK_WINDOW_UNBOUND] = { "a send that invalidates a window which is not bound",
				  "rxe crashes the kernel" },
	[LACK_WINDOW_QUEUE] = { "the end of queue pairs that windows are bound to",
				"rxe crashes the kernel" },
	[LACK_INVALIDATED] = { "the key that a completion says was invalidated",
			       "rxe does not say it" },
	[LACK_NO_LENGTH] = { "regions of no bytes",
			     "rxe makes them if they do not begin with a page" },
	[LACK_RECEIVE_STATUS] = { "messages that fail and take a receive request",
				  "rxe completes either side otherwise" },
	[LACK_LATER] = { "receive requests of queue pairs that have failed",
			 "rxe does not look for them any more" },
	[LACK_FLUSH] = { "a flush that is refused",
			 "rxe completes it otherwise" },
};

bool other_known(void)
{
	char path[256], text[16] = "";
	FILE *file;

	if (dev.pinion)
		return true;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/node_desc",
		 device_name());
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	return !strncmp(text, "rxe", 3);
}

bool other_lacks(enum lack lack)
{
	if (dev.pinion)
		return false;
	counts->left_out[lack]++;
	return true;
}

void other_tell(void)
{
	enum lack lack;

	if (dev.pinion)
		return;
	for (lack = 0; lack < LACKS; lack++)
		note("left out %u times: %s: %s", counts->left_out[lack],
		     lacks[lack].call, lacks[lack].why);
}
