// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes mlx5's completions.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "mlx5_cqe.h"
#include "mlx5_wqe.h"

/* Offsets in an entry, and in an error entry. */
#define CQE_SOURCE	24
#define CQE_SRQN	32
#define CQE_EX		36
#define CQE_LENGTH	44
#define CQE_TIME	48
#define CQE_QPN		56
#define CQE_COUNTER	60
#define ERR_VENDOR	54
#define ERR_SYNDROME	55

/* In the word at CQE_SOURCE. */
#define SOURCE_SL	24
#define SOURCE_GRH	BIT(28)
/* Instead of the service level, if there is a GRH: the header that is in it. */
#define SOURCE_IPV6	1
#define SOURCE_IPV4	2

/* In the last byte. */
#define OWN_OPCODE	4
#define OWN_SOLICITED	BIT(1)

enum mlx5_cqe_opcode {
	CQE_REQUEST		= 0,
	CQE_WRITE_WITH_IMM	= 1,
	CQE_SEND		= 2,
	CQE_SEND_WITH_IMM	= 3,
	CQE_SEND_WITH_INV	= 4,
	CQE_RESIZED		= 5,
	CQE_REQUEST_ERROR	= 13,
	CQE_RECEIVE_ERROR	= 14,
};

/* Any other error. */
#define SYNDROME_OTHER	0xff

/* pinion_cqe.opcode of a received write with immediate (IB_WC_RECV_RDMA_WITH_IMM). */
#define RECV_WRITE_WITH_IMM	129

/* mlx5's syndrome for each enum ib_wc_status up to IB_WC_REM_ABORT_ERR; 0: SYNDROME_OTHER. */
static const u8 mlx5_cqe_syndromes[] = {
	0, 0x01, 0x02, 0, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0, 0, 0x22,
};

static u8 mlx5_cqe_syndrome(u8 status)
{
	u8 syndrome = status < ARRAY_SIZE(mlx5_cqe_syndromes) ? mlx5_cqe_syndromes[status] : 0;

	return syndrome ?: SYNDROME_OTHER;
}

static u8 mlx5_cqe_opcode(const struct pinion_cqe *cqe, const struct pinion_mlx5_cqe_of *of)
{
	if (cqe->status)
		return of->receive ? CQE_RECEIVE_ERROR : CQE_REQUEST_ERROR;
	if (!of->receive)
		return CQE_REQUEST;
	if (cqe->opcode == RECV_WRITE_WITH_IMM)
		return CQE_WRITE_WITH_IMM;
	if (cqe->flags & PINION_CQE_WITH_INV)
		return CQE_SEND_WITH_INV;
	return cqe->flags & PINION_CQE_WITH_IMM ? CQE_SEND_WITH_IMM : CQE_SEND;
}

static u32 mlx5_cqe_network(const struct pinion_cqe *cqe)
{
	return cqe->flags & PINION_CQE_NET_IPV6 ? SOURCE_IPV6 : SOURCE_IPV4;
}

static void mlx5_cqe_fill_success(u8 *to, const struct pinion_cqe *cqe)
{
	u32 source = cqe->src_qp & 0xffffff;

	if (cqe->flags & PINION_CQE_GRH)
		source |= SOURCE_GRH | mlx5_cqe_network(cqe) << SOURCE_SL;
	else
		source |= (cqe->sl & 0xf) << SOURCE_SL;
	put_unaligned_be32(source, to + CQE_SOURCE);
	/* A key is a number, so big-endian here; an immediate is copied as it is. */
	if (cqe->flags & PINION_CQE_WITH_INV)
		put_unaligned_be32(cqe->ex, to + CQE_EX);
	else if (cqe->flags & PINION_CQE_WITH_IMM)
		memcpy(to + CQE_EX, &cqe->ex, sizeof(cqe->ex));
	put_unaligned_be32(cqe->byte_len, to + CQE_LENGTH);
	put_unaligned_be64(cqe->timestamp, to + CQE_TIME);
}

/* The owner bit alternates each time round the ring, so old entries are not valid. */
static u8 mlx5_cqe_owner(u32 index, u32 size)
{
	return index & size ? 1 : 0;
}

u8 pinion_mlx5_cqe_fill(u8 to[PINION_MLX5_CQE - 1], const struct pinion_cqe *cqe,
			const struct pinion_mlx5_cqe_of *of, u32 index, u32 size)
{
	u32 opcode = of->receive ? 0 : pinion_mlx5_opcode(of->opcode);
	u8 own = mlx5_cqe_opcode(cqe, of) << OWN_OPCODE;

	memset(to, 0, PINION_MLX5_CQE - 1);
	put_unaligned_be32(of->srqn, to + CQE_SRQN);
	put_unaligned_be32(opcode << 24 | (cqe->qpn & 0xffffff), to + CQE_QPN);
	put_unaligned_be16(of->wqe_counter, to + CQE_COUNTER);
	if (cqe->status) {
		to[ERR_SYNDROME] = mlx5_cqe_syndrome(cqe->status);
		to[ERR_VENDOR] = cqe->vendor_err;
	} else {
		mlx5_cqe_fill_success(to, cqe);
	}
	if (cqe->flags & PINION_CQE_SOLICITED)
		own |= OWN_SOLICITED;
	return own | mlx5_cqe_owner(index, size);
}

u8 pinion_mlx5_cqe_fill_resized(u8 to[PINION_MLX5_CQE - 1], u32 index, u32 size)
{
	memset(to, 0, PINION_MLX5_CQE - 1);
	return CQE_RESIZED << OWN_OPCODE | mlx5_cqe_owner(index, size);
}
