// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random bytes as a DEVX command, in a buffer of exactly their length: parsing stays in bounds
 * and accepts only valid commands, and building the command again gives the same. The input is
 * two bytes with the answer's length, then the command.
 */
#include <linux/kernel.h>

#include "../../../kernel/logic/devx_caps.c"
#include "../../../kernel/logic/devx_cmd.c"
#include "../../../kernel/logic/devx_queue.c"

#include <string.h>

#include "must.h"

static void *exactly(size_t length)
{
	void *memory = calloc(1, length);

	MUST(memory);
	return memory;
}

static bool same_key(const struct pinion_devx_mkey *a,
		     const struct pinion_devx_mkey *b)
{
	return a->mode == b->mode && a->tag == b->tag &&
	       a->page_shift == b->page_shift && a->rights == b->rights &&
	       a->pdn == b->pdn && a->base == b->base && a->length == b->length;
}

/* Makes a create command from the answer of QUERY_MKEY, which must describe the same key. */
static void again(const u8 *in, size_t length,
		  const struct pinion_devx_mkey *mkey)
{
	u8 *out = exactly(QUERY_MKEY_OUT_LENGTH), *second = exactly(length);
	struct pinion_devx_cmd cmd;

	pinion_devx_put_mkey(out, mkey);
	memcpy(second, in, length);
	memcpy(second + MKC_AT / 8, out + MKC_AT / 8, 64);
	MUST(!pinion_devx_parse(second, length, PINION_DEVX_HEAD, &cmd));
	MUST(same_key(&cmd.mkey, mkey));
	free(out);
	free(second);
}

/* A key that requests (UMR) will fill: a number of entries, and nothing is said of them yet. */
static void check_mkey_by_request(const struct pinion_devx_mkey *mkey)
{
	MUST(mkey->mode == PINION_DEVX_MODE_KLM);
	MUST(mkey->entries && mkey->entries <= 1 << PINION_DEVX_LOG_MAX_KLMS);
	MUST(!mkey->num_klms && !mkey->length && !mkey->base);
	MUST(mkey->pdn <= 0xffffff && !mkey->page_shift);
}

static void check_mkey(const u8 *in, size_t length,
		       const struct pinion_devx_cmd *cmd)
{
	const struct pinion_devx_mkey *mkey = &cmd->mkey;
	u32 i;

	if (mkey->by_request) {
		check_mkey_by_request(mkey);
		return;
	}
	MUST(mkey->length);
	MUST(mkey->base + (mkey->length - 1) >= mkey->base);
	MUST(mkey->pdn <= 0xffffff && mkey->page_shift < 64);
	if (mkey->mode == PINION_DEVX_MODE_MTT) {
		MUST(!mkey->num_klms);
	} else {
		MUST(mkey->mode == PINION_DEVX_MODE_KLM);
		MUST(mkey->num_klms == mkey->entries);
		MUST(mkey->num_klms &&
		     mkey->num_klms <= 1 << PINION_DEVX_LOG_MAX_KLMS);
		for (i = 0; i < mkey->num_klms; i++)
			pinion_devx_klm(cmd->klms, i);
	}
	again(in, length, mkey);
}

static void check_caps(u16 capability, size_t out_length)
{
	static const struct pinion_devx_caps caps = {
		.log_max_key = 63,
		.log_max_pd = 31,
		.log_max_umem = 31,
		.log_max_klms = 63,
		.log_max_message = 31,
		.log_max_copy = 31,
		.page_shift = 255,
	};
	bool known = capability == CAPS_GENERAL || capability == CAPS_ODP ||
		     capability == CAPS_ATOMIC || capability == CAPS_MEMORY ||
		     capability == CAPS_GENERAL_2;
	u8 *out = exactly(out_length);

	memset(out, 0, out_length);
	MUST(pinion_devx_put_caps(out, out_length, capability, &caps) ==
	     (known ? PINION_DEVX_DONE : PINION_DEVX_NO_SUCH_CAPS));
	free(out);
}

/* The answer of a state change fits into a buffer of the requested length. */
static void check_change(const struct pinion_devx_qp *qp)
{
	const struct pinion_devx_qp_state state = {};
	u8 *out = exactly(QUERY_QP_OUT_LENGTH);

	pinion_devx_put_qp(out, qp, &state);
	MUST(!out[QPC_AT / 8]);
	free(out);
}

static void check(const u8 *in, size_t length, size_t out_length)
{
	struct pinion_devx_cmd cmd;
	int refusal = pinion_devx_parse(in, length, out_length, &cmd);
	u8 *out;

	MUST(refusal >= 0 && refusal < PINION_DEVX_NUM_REFUSALS);
	if (!refusal && cmd.opcode == PINION_DEVX_CREATE_MKEY)
		check_mkey(in, length, &cmd);
	else if (!refusal && cmd.opcode == PINION_DEVX_QUERY_HCA_CAP)
		check_caps(cmd.capability, out_length);
	else if (!refusal && cmd.opcode == PINION_DEVX_QUERY_MKEY)
		MUST(out_length >= QUERY_MKEY_OUT_LENGTH);
	else if (!refusal && cmd.opcode == PINION_DEVX_QUERY_CQ)
		MUST(out_length >= QUERY_CQ_OUT_LENGTH);
	else if (!refusal && cmd.opcode == PINION_DEVX_QUERY_QP)
		MUST(out_length >= QUERY_QP_OUT_LENGTH);
	else if (!refusal && cmd.opcode == PINION_DEVX_INIT2RTR_QP)
		check_change(&cmd.qp);
	else if (!refusal && cmd.opcode == PINION_DEVX_QUERY_FLOW_COUNTER)
		MUST(out_length >= QUERY_COUNTER_LENGTH);

	out = exactly(out_length);
	pinion_devx_put_number(out, cmd.number);
	pinion_devx_put_refusal(out, refusal);
	MUST(!out[0] == !refusal && out[7] == refusal &&
	     cmd_get(out, op_number) == (cmd.number & 0xffffff));
	free(out);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	size_t out_length;
	u8 *in;

	/* The ioctl methods refuse shorter commands before parsing. */
	if (size < 2 + PINION_DEVX_HEAD)
		return 0;
	out_length = data[0] << 8 | data[1];
	if (out_length < PINION_DEVX_HEAD)
		out_length = PINION_DEVX_HEAD;
	size -= 2;
	in = exactly(size);
	memcpy(in, data + 2, size);
	check(in, size, out_length);
	free(in);
	return 0;
}
