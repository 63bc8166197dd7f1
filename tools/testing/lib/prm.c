// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes DEVX commands and reads their answers. Sends nothing.
 */
#include <endian.h>
#include <string.h>

#include "prm.h"

void prm_put32(void *to, uint32_t offset, uint32_t value)
{
	value = htobe32(value);
	memcpy((uint8_t *)to + offset, &value, sizeof(value));
}

void prm_put64(void *to, uint32_t offset, uint64_t value)
{
	value = htobe64(value);
	memcpy((uint8_t *)to + offset, &value, sizeof(value));
}

uint32_t prm_get32(const void *from, uint32_t offset)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)from + offset, sizeof(value));
	return be32toh(value);
}

uint64_t prm_get64(const void *from, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)from + offset, sizeof(value));
	return be64toh(value);
}

void prm_head(void *in, uint16_t opcode, uint32_t number)
{
	memset(in, 0, PRM_HEAD);
	prm_put32(in, 0, (uint32_t)opcode << 16);
	prm_put32(in, 8, number);
}

size_t prm_create_mkey(uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16],
		       const struct prm_mkey *mkey)
{
	uint32_t mode = mkey->mode ? mkey->mode : PRM_MTT;
	uint32_t i;

	memset(in, 0, PRM_MKEY);
	prm_head(in, PRM_CREATE_MKEY, 0);
	prm_put32(in, 0x0c, 1U << 30);
	prm_put32(in, 0x10, (mkey->rights ? mkey->rights : PRM_ALL) | mode);
	prm_put32(in, 0x14, 0xffffff00 | mkey->tag);
	prm_put32(in, 0x1c, mkey->pdn);
	prm_put64(in, 0x20, mkey->base);
	prm_put64(in, 0x28, mkey->length);
	prm_put32(in, 0x48, mkey->log_page);
	prm_put32(in, 0x60, mkey->num_klms ? mkey->num_klms : mkey->octwords);
	prm_put32(in, 0x64, mkey->umem_id);
	prm_put64(in, 0x68, mkey->umem_offset);
	for (i = 0; i < mkey->num_klms; i++) {
		prm_put32(in, PRM_MKEY + i * 16, mkey->klms[i].length);
		prm_put32(in, PRM_MKEY + i * 16 + 4, mkey->klms[i].key);
		prm_put64(in, PRM_MKEY + i * 16 + 8, mkey->klms[i].addr);
	}
	return PRM_MKEY + mkey->num_klms * 16;
}

void prm_create_cq(uint8_t in[PRM_CQ], const struct prm_cq *cq)
{
	memset(in, 0, PRM_CQ);
	prm_head(in, PRM_CREATE_CQ, 0);
	prm_put32(in, 0x10, 1 << 25 | cq->stride << 21 | cq->overruns << 17);
	prm_put32(in, 0x14, cq->record_umem_id);
	prm_put32(in, 0x1c, cq->log_size << 24 | cq->uar);
	prm_put32(in, 0x24, cq->eqn);
	prm_put64(in, 0x48, cq->record);
	prm_put64(in, 0x50, cq->offset);
	prm_put32(in, 0x58, cq->umem_id);
	prm_put32(in, 0x5c, 1U << 31);
}

void prm_create_qp(uint8_t in[PRM_QP], const struct prm_qp *qp)
{
	uint8_t *qpc = in + PRM_QPC;

	memset(in, 0, PRM_QP);
	prm_head(in, PRM_CREATE_QP, 0);
	prm_put32(qpc, 0x00, qp->service << 16 | 3 << 11);
	prm_put32(qpc, 0x04, qp->pdn);
	prm_put32(qpc, 0x08,
		  qp->log_rq << 19 | qp->log_stride << 16 | qp->log_sq << 11);
	prm_put32(qpc, 0x0c, qp->uar);
	prm_put32(qpc, 0x10, qp->no_send_record << 30 | qp->user_index);
	prm_put32(qpc, 0x7c, qp->send_cqn);
	prm_put32(qpc, 0x9c, qp->recv_cqn);
	prm_put64(qpc, 0xa0, qp->record);
	prm_put32(qpc, 0xac, qp->rq << 24 | qp->rmpn);
	prm_put32(qpc, 0xd0, 1 << 28);
	prm_put32(qpc, 0xe4, qp->record_umem_id);
	prm_put64(in, 0x100, qp->offset);
	prm_put32(in, 0x108, qp->umem_id);
	prm_put32(in, 0x10c, 1U << 31);
}

void prm_change_qp(uint8_t in[PRM_QP], uint16_t opcode, uint32_t number,
		   const struct prm_path *path)
{
	enum {
		MTU_1024 = 3,
		PORT = 1,
		TIMEOUT = 14,
		RNR_TIMER = 12,
		READS = 4
	};
	uint8_t *qpc = in + PRM_QPC;

	memset(in, 0, PRM_QP);
	prm_head(in, opcode, number);
	prm_put32(in, 0x10, path->optional);
	prm_put32(qpc, 0x08, (uint32_t)MTU_1024 << 29);
	prm_put32(qpc, 0x14, path->remote_qpn);
	/* The primary path. */
	prm_put32(qpc, 0x20, TIMEOUT << 27 | path->sgid_index << 16 | 64);
	memcpy(qpc + 0x28, path->gid, sizeof(path->gid));
	qpc[0x3d] = PORT;
	memcpy(qpc + 0x3e, path->mac, sizeof(path->mac));
	prm_put32(qpc, 0x70, READS << 21 | 7 << 16 | 7 << 13);
	prm_put32(qpc, 0x78, path->psn);
	/* The peer may read, write and do atomics. */
	prm_put32(qpc, 0x90, READS << 21 | 7 << 13);
	prm_put32(qpc, 0x94, RNR_TIMER << 24 | path->psn);
	prm_put32(qpc, 0xa8, path->qkey);
}

void prm_create_rmp(uint8_t in[PRM_RMP], const struct prm_rmp *rmp)
{
	uint8_t *wq = in + PRM_WQ;

	memset(in, 0, PRM_RMP);
	prm_head(in, PRM_CREATE_RMP, 0);
	prm_put32(in, 0x20, 1 << 20);
	prm_put32(wq, 0x00, rmp->cyclic << 28);
	prm_put32(wq, 0x04, rmp->limit);
	prm_put32(wq, 0x08, rmp->pdn);
	prm_put64(wq, 0x10, rmp->record);
	prm_put32(wq, 0x20, rmp->log_stride << 16 | rmp->log_size);
	prm_put32(wq, 0x24, 3U << 30);
	prm_put32(wq, 0x28, rmp->record_umem_id);
	prm_put32(wq, 0x2c, rmp->umem_id);
	prm_put64(wq, 0x30, rmp->offset);
}

void prm_modify_rmp(uint8_t in[PRM_RMP], uint32_t number, uint32_t limit)
{
	memset(in, 0, PRM_RMP);
	prm_head(in, PRM_MODIFY_RMP, 1U << 28 | number);
	prm_put32(in, 0x14, 1);
	prm_put32(in + PRM_WQ, 0x04, limit);
}

uint8_t prm_status(const void *out)
{
	return prm_get32(out, 0) >> 24;
}

uint32_t prm_syndrome(const void *out)
{
	return prm_get32(out, 4);
}

uint32_t prm_number(const void *out)
{
	return prm_get32(out, 8) & 0xffffff;
}
