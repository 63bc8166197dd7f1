// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parses DEVX commands and writes answers. Features that are not supported are refused here, so
 * that no part of a command is silently ignored.
 */
#include <linux/kernel.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "devx_cmd.h"
#include "devx_field.h"
#include "devx_queue.h"

/* Fields of every command. */
static const struct pinion_devx_field op_opcode = { 0x00, 16 };
static const struct pinion_devx_field op_modifier = { 0x30, 16 };
/* The object's number, in commands about one object and in answers of CREATE commands. */
static const struct pinion_devx_field op_number = { 0x48, 24 };
static const struct pinion_devx_field out_status = { 0x00, 8 };
static const struct pinion_devx_field out_syndrome = { 0x20, 32 };

/* Fields of a key's context, counted from its first bit. */
static const struct pinion_devx_field mkc_free = { 0x01, 1 };
static const struct pinion_devx_field mkc_mode_high = { 0x03, 3 };
static const struct pinion_devx_field mkc_umr = { 0x10, 1 };
static const struct pinion_devx_field mkc_atomic = { 0x11, 1 };
static const struct pinion_devx_field mkc_remote_write = { 0x12, 1 };
static const struct pinion_devx_field mkc_remote_read = { 0x13, 1 };
static const struct pinion_devx_field mkc_local_write = { 0x14, 1 };
static const struct pinion_devx_field mkc_local_read = { 0x15, 1 };
static const struct pinion_devx_field mkc_mode_low = { 0x16, 2 };
static const struct pinion_devx_field mkc_qpn = { 0x20, 24 };
static const struct pinion_devx_field mkc_tag = { 0x38, 8 };
static const struct pinion_devx_field mkc_length64 = { 0x60, 1 };
static const struct pinion_devx_field mkc_bsf = { 0x61, 1 };
static const struct pinion_devx_field mkc_invalidate = { 0x67, 1 };
static const struct pinion_devx_field mkc_pdn = { 0x68, 24 };
static const struct pinion_devx_field mkc_base = { 0x80, 64 };
static const struct pinion_devx_field mkc_length = { 0xc0, 64 };
static const struct pinion_devx_field mkc_octwords = { 0x1a0, 32 };
static const struct pinion_devx_field mkc_page_shift = { 0x1da, 6 };

/* The bit at which the context begins, in CREATE_MKEY and in the answer of QUERY_MKEY. */
#define MKC_AT 0x80

/* Other fields of CREATE_MKEY. */
static const struct pinion_devx_field create_octwords = { 0x300, 32 };
static const struct pinion_devx_field create_umem_id = { 0x320, 32 };
static const struct pinion_devx_field create_umem_offset = { 0x340, 64 };

/* Flow counters: several at once, and an answer that is written elsewhere. Both are refused. */
static const struct pinion_devx_field alloc_bulk = { 0x60, 32 };
static const struct pinion_devx_field query_dump = { 0xc1, 31 };
static const struct pinion_devx_field query_counter = { 0xe0, 32 };

#define QUERY_COUNTER_LENGTH	0x20

#define CREATE_MKEY_LENGTH	0x110
#define QUERY_MKEY_OUT_LENGTH	0x110
/* Lengths in bytes up to the last field that is used. */
#define CREATE_CQ_LENGTH	0x60
#define MODIFY_CQ_LENGTH	0x50
#define QUERY_CQ_OUT_LENGTH	0x50
#define CREATE_QP_LENGTH	0x110
#define MODIFY_QP_LENGTH	0x100
#define QUERY_QP_OUT_LENGTH	0x100
#define CREATE_RMP_LENGTH	0x88
#define MODIFY_RMP_LENGTH	0x58
#define QUERY_RMP_OUT_LENGTH	0x88
#define KLM_LENGTH		16
#define OCTWORD			16
#define ENTRY			8

/* The number of a key that is not bound to one queue pair. */
#define ANY_QPN			0xffffff

static u64 cmd_get(const u8 *in, struct pinion_devx_field field)
{
	return pinion_devx_get(in, 0, field);
}

static u64 cmd_get_mkc(const u8 *in, struct pinion_devx_field field)
{
	return pinion_devx_get(in, MKC_AT, field);
}

/* Without local read: verbs always allow that, so a key without it is refused (below). */
static const struct {
	const struct pinion_devx_field *field;
	u32 right;
} rights[] = {
	{ &mkc_atomic,		IB_UVERBS_ACCESS_REMOTE_ATOMIC },
	{ &mkc_remote_write,	IB_UVERBS_ACCESS_REMOTE_WRITE },
	{ &mkc_remote_read,	IB_UVERBS_ACCESS_REMOTE_READ },
	{ &mkc_local_write,	IB_UVERBS_ACCESS_LOCAL_WRITE },
};

/* Features of keys that this device does not have. */
static const struct pinion_devx_field *const unsupported[] = {
	&mkc_mode_high, &mkc_bsf,
};

/*
 * A key whose memory is set by requests (UMR) later. The command must not name any; it gives the
 * number of entries to allocate for the list.
 */
static int cmd_parse_mkey_by_request(const u8 *in, struct pinion_devx_mkey *mkey)
{
	if (!cmd_get_mkc(in, mkc_free) || mkey->mode != PINION_DEVX_MODE_KLM || mkey->length ||
	    mkey->base)
		return PINION_DEVX_MKEY_FEATURE;
	if (mkey->page_shift || cmd_get(in, create_octwords))
		return PINION_DEVX_LIST_FORM;
	mkey->entries = cmd_get_mkc(in, mkc_octwords);
	mkey->by_request = true;
	mkey->peers_invalidate = cmd_get_mkc(in, mkc_invalidate);
	if (!mkey->entries)
		return PINION_DEVX_LIST_FORM;
	return mkey->entries > 1 << PINION_DEVX_LOG_MAX_KLMS ? PINION_DEVX_LIST_LONG :
							       PINION_DEVX_DONE;
}

static int cmd_parse_mkey(const u8 *in, size_t length, struct pinion_devx_mkey *mkey)
{
	u64 octwords;
	int i;

	for (i = 0; i < ARRAY_SIZE(unsupported); i++) {
		if (cmd_get_mkc(in, *unsupported[i]))
			return PINION_DEVX_MKEY_FEATURE;
	}
	if (cmd_get_mkc(in, mkc_qpn) != ANY_QPN)
		return PINION_DEVX_MKEY_QPN;
	if (!cmd_get_mkc(in, mkc_local_read))
		return PINION_DEVX_MKEY_NO_READ;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		if (cmd_get_mkc(in, *rights[i].field))
			mkey->rights |= rights[i].right;
	}
	mkey->mode = cmd_get_mkc(in, mkc_mode_low);
	mkey->tag = cmd_get_mkc(in, mkc_tag);
	mkey->pdn = cmd_get_mkc(in, mkc_pdn);
	mkey->base = cmd_get_mkc(in, mkc_base);
	mkey->length = cmd_get_mkc(in, mkc_length);
	mkey->page_shift = cmd_get_mkc(in, mkc_page_shift);
	octwords = cmd_get(in, create_octwords);
	if (cmd_get_mkc(in, mkc_umr))
		return cmd_parse_mkey_by_request(in, mkey);
	/* Without UMR a key that is free, or was invalidated, could never become valid. */
	if (cmd_get_mkc(in, mkc_free) || cmd_get_mkc(in, mkc_invalidate))
		return PINION_DEVX_MKEY_FEATURE;

	/* The key must not reach beyond the last address. */
	if (cmd_get_mkc(in, mkc_length64) || !mkey->length ||
	    mkey->base + (mkey->length - 1) < mkey->base)
		return PINION_DEVX_MKEY_LENGTH;
	switch (mkey->mode) {
	case PINION_DEVX_MODE_MTT:
		mkey->entries = octwords * (OCTWORD / ENTRY);
		mkey->umem_id = cmd_get(in, create_umem_id);
		mkey->umem_offset = cmd_get(in, create_umem_offset);
		return PINION_DEVX_DONE;
	case PINION_DEVX_MODE_KLM:
		if (!octwords || mkey->page_shift)
			return PINION_DEVX_LIST_FORM;
		if (octwords > (length - CREATE_MKEY_LENGTH) / KLM_LENGTH)
			return PINION_DEVX_LIST_CUT;
		if (octwords > 1 << PINION_DEVX_LOG_MAX_KLMS)
			return PINION_DEVX_LIST_LONG;
		mkey->entries = octwords;
		mkey->num_klms = octwords;
		return PINION_DEVX_DONE;
	}
	return PINION_DEVX_MKEY_MODE;
}

static const struct shape {
	u16 opcode;
	u16 in_length;
	u16 out_length;
} shapes[] = {
	{ PINION_DEVX_QUERY_HCA_CAP,	PINION_DEVX_HEAD,	PINION_DEVX_HEAD },
	{ PINION_DEVX_CREATE_MKEY,	CREATE_MKEY_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_QUERY_MKEY,	PINION_DEVX_HEAD,	QUERY_MKEY_OUT_LENGTH },
	{ PINION_DEVX_CREATE_CQ,	CREATE_CQ_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_QUERY_CQ,		PINION_DEVX_HEAD,	QUERY_CQ_OUT_LENGTH },
	{ PINION_DEVX_MODIFY_CQ,	MODIFY_CQ_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_CREATE_QP,	CREATE_QP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_RST2INIT_QP,	MODIFY_QP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_INIT2RTR_QP,	MODIFY_QP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_RTR2RTS_QP,	MODIFY_QP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_RTS2RTS_QP,	MODIFY_QP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_SQERR2RTS_QP,	MODIFY_QP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_INIT2INIT_QP,	MODIFY_QP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_2ERR_QP,		PINION_DEVX_HEAD,	PINION_DEVX_HEAD },
	{ PINION_DEVX_2RST_QP,		PINION_DEVX_HEAD,	PINION_DEVX_HEAD },
	{ PINION_DEVX_QUERY_QP,		PINION_DEVX_HEAD,	QUERY_QP_OUT_LENGTH },
	{ PINION_DEVX_CREATE_RMP,	CREATE_RMP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_MODIFY_RMP,	MODIFY_RMP_LENGTH,	PINION_DEVX_HEAD },
	{ PINION_DEVX_QUERY_RMP,	PINION_DEVX_HEAD,	QUERY_RMP_OUT_LENGTH },
	{ PINION_DEVX_ALLOC_PD,		PINION_DEVX_HEAD,	PINION_DEVX_HEAD },
	{ PINION_DEVX_QUERY_LAG,	PINION_DEVX_HEAD,	PINION_DEVX_HEAD },
	{ PINION_DEVX_ALLOC_FLOW_COUNTER, PINION_DEVX_HEAD,	PINION_DEVX_HEAD },
	{ PINION_DEVX_QUERY_FLOW_COUNTER, QUERY_COUNTER_LENGTH,	QUERY_COUNTER_LENGTH },
};

static const struct shape *shape_of(u16 opcode)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (shapes[i].opcode == opcode)
			return &shapes[i];
	}
	return NULL;
}

int pinion_devx_parse(const u8 *in, size_t in_length, size_t out_length,
		      struct pinion_devx_cmd *cmd)
{
	const struct shape *shape;
	u16 modifier = cmd_get(in, op_modifier);

	*cmd = (struct pinion_devx_cmd){ .opcode = cmd_get(in, op_opcode) };
	shape = shape_of(cmd->opcode);
	if (!shape)
		return PINION_DEVX_NO_SUCH_OPCODE;
	if (in_length < shape->in_length)
		return PINION_DEVX_SHORT_IN;
	if (out_length < shape->out_length)
		return PINION_DEVX_SHORT_OUT;

	if (cmd->opcode == PINION_DEVX_QUERY_HCA_CAP) {
		/* The lowest bit selects current or maximal capabilities, which are the same. */
		cmd->capability = modifier >> 1;
		return PINION_DEVX_DONE;
	}
	if (modifier)
		return PINION_DEVX_MODIFIER;
	switch (cmd->opcode) {
	case PINION_DEVX_CREATE_MKEY:
		cmd->klms = in + CREATE_MKEY_LENGTH;
		return cmd_parse_mkey(in, in_length, &cmd->mkey);
	case PINION_DEVX_CREATE_CQ:
		return pinion_devx_parse_cq(in, &cmd->cq);
	case PINION_DEVX_MODIFY_CQ:
		cmd->number = cmd_get(in, op_number);
		return pinion_devx_parse_cq_change(in, &cmd->cq_change);
	case PINION_DEVX_CREATE_QP:
		return pinion_devx_parse_qp(in, &cmd->qp);
	case PINION_DEVX_CREATE_RMP:
		return pinion_devx_parse_rmp(in, &cmd->rmp);
	case PINION_DEVX_MODIFY_RMP:
		cmd->number = cmd_get(in, op_number);
		return pinion_devx_parse_rmp_change(in, &cmd->rmp_change);
	case PINION_DEVX_RST2INIT_QP:
	case PINION_DEVX_INIT2RTR_QP:
	case PINION_DEVX_RTR2RTS_QP:
	case PINION_DEVX_RTS2RTS_QP:
	case PINION_DEVX_SQERR2RTS_QP:
	case PINION_DEVX_INIT2INIT_QP:
		cmd->number = cmd_get(in, op_number);
		return pinion_devx_parse_qp_change(in, &cmd->qp);
	case PINION_DEVX_ALLOC_FLOW_COUNTER:
		return cmd_get(in, alloc_bulk) ? PINION_DEVX_COUNTERS : PINION_DEVX_DONE;
	case PINION_DEVX_QUERY_FLOW_COUNTER:
		cmd->number = cmd_get(in, query_counter);
		return cmd_get(in, query_dump) ? PINION_DEVX_COUNTERS : PINION_DEVX_DONE;
	}
	cmd->number = cmd_get(in, op_number);
	return PINION_DEVX_DONE;
}

struct pinion_devx_klm pinion_devx_klm(const u8 *klms, u32 index)
{
	const u8 *at = klms + index * KLM_LENGTH;

	return (struct pinion_devx_klm){
		.length = pinion_devx_get(at, 0, (struct pinion_devx_field){ 0x00, 32 }),
		.key = pinion_devx_get(at, 0, (struct pinion_devx_field){ 0x20, 32 }),
		.addr = pinion_devx_get(at, 0, (struct pinion_devx_field){ 0x40, 64 }),
	};
}

/* Refusals that are not listed have status BAD_PARAM. */
static const u8 statuses[PINION_DEVX_NUM_REFUSALS] = {
	[PINION_DEVX_DONE]		= PINION_DEVX_OK,
	[PINION_DEVX_NO_SUCH_OPCODE]	= PINION_DEVX_BAD_OP,
	[PINION_DEVX_WRONG_CALL]	= PINION_DEVX_BAD_OP,
	[PINION_DEVX_SHORT_IN]		= PINION_DEVX_BAD_IN_LENGTH,
	[PINION_DEVX_SHORT_OUT]		= PINION_DEVX_BAD_OUT_LENGTH,
	[PINION_DEVX_LIST_CUT]		= PINION_DEVX_BAD_IN_LENGTH,
	[PINION_DEVX_LIST_LONG]		= PINION_DEVX_LIMIT,
	[PINION_DEVX_NO_SUCH_PD]	= PINION_DEVX_BAD_RESOURCE,
	[PINION_DEVX_NO_SUCH_UMEM]	= PINION_DEVX_BAD_RESOURCE,
	[PINION_DEVX_NO_SUCH_PIECE]	= PINION_DEVX_BAD_RESOURCE,
	[PINION_DEVX_PIECE_LENT_OUT]	= PINION_DEVX_LIMIT,
	[PINION_DEVX_DEVICE_KEYS]	= PINION_DEVX_LIMIT,
	[PINION_DEVX_USER_KEYS]		= PINION_DEVX_LIMIT,
	[PINION_DEVX_QUEUE_SIZE]	= PINION_DEVX_LIMIT,
	[PINION_DEVX_UMEM_VIEWS]	= PINION_DEVX_LIMIT,
	[PINION_DEVX_DEVICE_QUEUES]	= PINION_DEVX_LIMIT,
	[PINION_DEVX_USER_QUEUES]	= PINION_DEVX_LIMIT,
	[PINION_DEVX_NO_SUCH_EQ]	= PINION_DEVX_BAD_RESOURCE,
	[PINION_DEVX_NO_SUCH_CQ]	= PINION_DEVX_BAD_RESOURCE,
	[PINION_DEVX_QP_STATE]		= PINION_DEVX_BAD_STATE,
	[PINION_DEVX_NO_SUCH_RMP]	= PINION_DEVX_BAD_RESOURCE,
	[PINION_DEVX_NO_SUCH_UAR]	= PINION_DEVX_BAD_RESOURCE,
};

u8 pinion_devx_status(int refusal)
{
	return refusal ? statuses[refusal] ?: PINION_DEVX_BAD_PARAM : PINION_DEVX_OK;
}

void pinion_devx_put_refusal(u8 *out, int refusal)
{
	pinion_devx_put(out, 0, out_status, pinion_devx_status(refusal));
	pinion_devx_put(out, 0, out_syndrome, refusal);
}

void pinion_devx_put_number(u8 *out, u32 number)
{
	pinion_devx_put(out, 0, op_number, number);
}

/* The answer has the arguments of CREATE_MKEY, not the addresses of the memory. */
void pinion_devx_put_mkey(u8 *out, const struct pinion_devx_mkey *mkey)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rights); i++)
		pinion_devx_put(out, MKC_AT, *rights[i].field, !!(mkey->rights & rights[i].right));
	pinion_devx_put(out, MKC_AT, mkc_local_read, 1);
	pinion_devx_put(out, MKC_AT, mkc_free, mkey->by_request);
	pinion_devx_put(out, MKC_AT, mkc_umr, mkey->by_request);
	pinion_devx_put(out, MKC_AT, mkc_invalidate, mkey->peers_invalidate);
	pinion_devx_put(out, MKC_AT, mkc_mode_low, mkey->mode);
	pinion_devx_put(out, MKC_AT, mkc_qpn, ANY_QPN);
	pinion_devx_put(out, MKC_AT, mkc_tag, mkey->tag);
	pinion_devx_put(out, MKC_AT, mkc_pdn, mkey->pdn);
	pinion_devx_put(out, MKC_AT, mkc_base, mkey->base);
	pinion_devx_put(out, MKC_AT, mkc_length, mkey->length);
	pinion_devx_put(out, MKC_AT, mkc_octwords,
			mkey->mode == PINION_DEVX_MODE_KLM ?
				mkey->entries : DIV_ROUND_UP(mkey->entries, OCTWORD / ENTRY));
	pinion_devx_put(out, MKC_AT, mkc_page_shift, mkey->page_shift);
}
