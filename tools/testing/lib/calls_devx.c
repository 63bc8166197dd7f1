// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX commands of words.
 */
#include <string.h>

#include "device.h"
#include "prm.h"
#include "words.h"

/* Where queues by command are in a umem of the arena. */
enum {
	SQ_AT = 1024,
	CQ_AT = 3072,
	QP_RECORD_AT = 11264,
	CQ_RECORD_AT = QP_RECORD_AT + 64,
	POOL_RECORD_AT = CQ_RECORD_AT + 64,
};

enum devx_object calls_devx_makes(uint16_t opcode)
{
	switch (opcode) {
	case PRM_CREATE_MKEY:
		return DEVX_KEY;
	case PRM_CREATE_CQ:
		return DEVX_CQ;
	case PRM_CREATE_QP:
		return DEVX_QP;
	case PRM_CREATE_RMP:
		return DEVX_RMP;
	case PRM_ALLOC_PD:
		return DEVX_PD;
	case PRM_ALLOC_FLOW_COUNTER:
		return DEVX_COUNTER;
	}
	return DEVX_OBJECTS;
}

static size_t key_command(uint8_t *in, bool pieces)
{
	const struct prm_klm klms[] = {
		{ word_some(100), word_value(VALUE_LKEY), word_some_address() },
		{ word_some(100), word_value(VALUE_LKEY), word_some_address() },
	};
	struct prm_mkey mkey = {
		.mode = pieces ? PRM_KLM : PRM_MTT,
		.rights = word_some(PRM_ALL) & PRM_ALL,
		.pdn = word_value(VALUE_PDN),
		.log_page = word_some(0),
		.base = word_some_address(),
		.length = word_some(200),
		.umem_id = word_value(VALUE_UMEM),
		.umem_offset = word_some(0),
		.klms = klms,
		.num_klms = pieces ? word_some(2) % 3 : 0,
	};

	return prm_create_mkey(in, &mkey);
}

static size_t cq_command(uint8_t *in)
{
	struct prm_cq cq = {
		.umem_id = word_value(VALUE_UMEM),
		.record_umem_id = word_value(VALUE_UMEM),
		.eqn = word_value(VALUE_EQN),
		.offset = word_some(CQ_AT),
		.record = word_some(CQ_RECORD_AT),
		.log_size = word_some(6),
		.stride = word_some(0),
		.overruns = word_some(0),
		.uar = word_value(VALUE_UAR),
	};

	prm_create_cq(in, &cq);
	return PRM_CQ;
}

static size_t qp_command(uint8_t *in)
{
	uint32_t service = word_some(PRM_RC), rq = word_some(PRM_RQ_OWN);
	struct prm_qp qp = {
		.umem_id = word_value(VALUE_UMEM),
		.record_umem_id = word_value(VALUE_UMEM),
		.pdn = word_value(VALUE_PDN),
		.send_cqn = word_value(VALUE_DEVX + DEVX_CQ),
		.recv_cqn = word_value(VALUE_DEVX + DEVX_CQ),
		.offset = word_some(rq == PRM_RQ_OWN ? 0 : SQ_AT),
		.record = word_some(QP_RECORD_AT),
		.log_sq = word_some(5),
		.log_rq = word_some(4),
		.log_stride = word_some(2),
		.service = service,
		.rq = rq,
		.rmpn = word_value(VALUE_DEVX + DEVX_RMP),
		.uar = word_value(VALUE_UAR),
	};

	prm_create_qp(in, &qp);
	return PRM_QP;
}

static size_t rmp_command(uint8_t *in)
{
	struct prm_rmp rmp = {
		.umem_id = word_value(VALUE_UMEM),
		.record_umem_id = word_value(VALUE_UMEM),
		.pdn = word_value(VALUE_PDN),
		.offset = word_some(0),
		.record = word_some(POOL_RECORD_AT),
		.log_size = word_some(5),
		.log_stride = word_some(6),
		.limit = word_some(0),
		.cyclic = word_some(0),
	};

	prm_create_rmp(in, &rmp);
	return PRM_RMP;
}

static size_t change_command(uint8_t *in, uint16_t opcode)
{
	struct prm_path path = {
		.sgid_index = word_some(dev.gid_index),
		.remote_qpn = word_value(VALUE_DEVX + DEVX_QP),
		.qkey = word_some(0),
		.optional = word_some(0),
	};

	memcpy(path.gid, &dev.gid, sizeof(path.gid));
	prm_change_qp(in, opcode, word_value(VALUE_DEVX + DEVX_QP), &path);
	return PRM_QP;
}

static size_t short_command(uint8_t *in, uint16_t opcode, uint32_t object)
{
	uint32_t number = object < DEVX_OBJECTS ?
				  word_value(VALUE_DEVX + object) :
				  word_some(0);

	memset(in, 0, 64);
	prm_head(in, opcode, opcode == PRM_QUERY_FLOW_COUNTER ? 0 : number);
	if (opcode == PRM_QUERY_FLOW_COUNTER)
		prm_put32(in, 0x1c, number);
	return 64;
}

size_t calls_devx_command(uint8_t *in, uint16_t *opcode)
{
	static const struct {
		uint16_t opcode;
		uint8_t object; /* DEVX_OBJECTS: none */
	} kinds[] = {
		{ PRM_CREATE_MKEY, DEVX_KEY },
		{ PRM_CREATE_MKEY, DEVX_KEY }, /* of pieces */
		{ PRM_CREATE_CQ, DEVX_CQ },
		{ PRM_CREATE_QP, DEVX_QP },
		{ PRM_CREATE_RMP, DEVX_RMP },
		{ PRM_ALLOC_PD, DEVX_OBJECTS },
		{ PRM_ALLOC_FLOW_COUNTER, DEVX_OBJECTS },
		{ PRM_QUERY_MKEY, DEVX_KEY },
		{ PRM_QUERY_CQ, DEVX_CQ },
		{ PRM_QUERY_QP, DEVX_QP },
		{ PRM_QUERY_RMP, DEVX_RMP },
		{ PRM_QUERY_FLOW_COUNTER, DEVX_COUNTER },
		{ PRM_QUERY_HCA_CAP, DEVX_OBJECTS },
		{ PRM_QUERY_LAG, DEVX_OBJECTS },
		{ PRM_MODIFY_CQ, DEVX_CQ },
		{ PRM_MODIFY_RMP, DEVX_RMP },
		{ PRM_RST2INIT_QP, DEVX_QP },
		{ PRM_INIT2RTR_QP, DEVX_QP },
		{ PRM_RTR2RTS_QP, DEVX_QP },
		{ PRM_RTS2RTS_QP, DEVX_QP },
		{ PRM_SQERR2RTS_QP, DEVX_QP },
		{ PRM_2ERR_QP, DEVX_QP },
		{ PRM_2RST_QP, DEVX_QP },
		{ PRM_INIT2INIT_QP, DEVX_QP },
		{ PRM_DESTROY_MKEY, DEVX_KEY },
		{ PRM_DEALLOC_PD, DEVX_PD },
	};
	uint32_t kind = word_take() % ARRAY_SIZE(kinds), flip, limit;
	size_t length;

	*opcode = kinds[kind].opcode;
	switch (*opcode) {
	case PRM_CREATE_MKEY:
		length = key_command(in, kind == 1);
		break;
	case PRM_CREATE_CQ:
		length = cq_command(in);
		break;
	case PRM_CREATE_QP:
		length = qp_command(in);
		break;
	case PRM_CREATE_RMP:
		length = rmp_command(in);
		break;
	case PRM_MODIFY_RMP:
		/* In this order, whatever that of the arguments is. */
		limit = word_some(1);
		prm_modify_rmp(in, word_value(VALUE_DEVX + DEVX_RMP), limit);
		length = PRM_RMP;
		break;
	case PRM_RST2INIT_QP ... PRM_2ERR_QP:
	case PRM_2RST_QP:
	case PRM_INIT2INIT_QP:
		length = change_command(in, *opcode);
		break;
	default:
		length = short_command(in, *opcode, kinds[kind].object);
	}
	flip = word_take();
	if (flip)
		in[flip / 8 % length] ^= 1 << flip % 8;
	return word_some(length) % 1024;
}
