// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 by carry-less multiplication, for x86 kernels whose library uses tables. Bits are
 * reflected, as in this CRC: bit 0 stands for the highest power of x.
 *
 * Data that is followed by n more bits is multiplied by x^n. So a lane of 128 bits can be folded
 * into the data n bits behind it by two products, of each half with a constant: the remainders of
 * x^(n + 64) and x^n. (The exponents are 32 less, since a product of reflected numbers is shifted
 * by one bit, and a remainder is in the upper half of its word.) The lanes of the head are folded
 * into the first of the data; there, four lanes are folded over 512 bits at a time, then into one
 * lane, which is folded over the lanes that are left. The last 128 bits are reduced with the
 * remainder of x^64: first 64 bits, then 32 bits twice; the last 32 bits by Barrett's method, a
 * product with the quotient of x^64 and the polynomial, and one with the polynomial. crc32_le()
 * does the bytes that fill no lane.
 */
#include "crc.h"

#if defined(CONFIG_X86_64) && !IS_ENABLED(CONFIG_CRC32_ARCH)

#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <linux/preempt.h>

#define LANE	PINION_CRC_LANE
/* For fewer bytes kernel_fpu_begin() costs more than folding saves. */
#define WORTH	(IS_ENABLED(CONFIG_UML) ? LANE : 8 * LANE)

struct crc_powers {
	u64 first, second;
} __aligned(LANE);

/* x^(512 + 32) and x^(512 - 32); x^(128 + 32) and x^(128 - 32); x^64. */
static const struct crc_powers crc_over_lanes = { 0x154442bd4, 0x1c6e41596 };
static const struct crc_powers crc_over_lane = { 0x1751997d0, 0x0ccaa009e };
static const u64 crc_over_word = 0x163cd6124;
/* The quotient of x^64 and the polynomial; the polynomial. */
static const struct crc_powers crc_quotient = { 0x1f7011641, 0x1db710641 };

/* Fold lane REG by the constants in xmm4, then apply ADD. Clobbers xmm5. */
#define MOVE(reg, add)					\
	"movdqa	%%" reg ", %%xmm5\n\t"			\
	"pclmulqdq $0x00, %%xmm4, %%" reg "\n\t"	\
	"pclmulqdq $0x11, %%xmm4, %%xmm5\n\t"		\
	"pxor	%%xmm5, %%" reg "\n\t"			\
	add

#define FROM(offset, from, reg)				\
	"movdqu	" offset "(%[" from "]), %%xmm6\n\t"	\
	"pxor	%%xmm6, %%" reg "\n\t"

/* Fold the lowest word of xmm0 into those above it, and shift these down. Clobbers xmm5. */
#define MOVE_WORD					\
	"movd	%%xmm0, %k[left]\n\t"			\
	"movd	%k[left], %%xmm5\n\t"			\
	"pclmulqdq $0x00, %%xmm4, %%xmm5\n\t"		\
	"psrldq	$4, %%xmm0\n\t"			\
	"pxor	%%xmm5, %%xmm0\n\t"

/* xmm5 = the lowest word of FROM, times the half of xmm4 that HALF says. */
#define WORD_BY(from, half)				\
	"movd	%%" from ", %k[left]\n\t"		\
	"movd	%k[left], %%xmm5\n\t"			\
	"pclmulqdq $" half ", %%xmm4, %%xmm5\n\t"

/*
 * The CRC of @head_lanes lanes (at least one) at @head and @lanes at @data. The clobbered xmm
 * registers are not listed, since the kernel is compiled without them. The caller holds the FPU.
 */
static u32 crc_fold(u32 crc, const u8 *head, size_t head_lanes, const u8 *data, size_t lanes)
{
	size_t fours = lanes / 4;
	u64 left = lanes % 4;

	asm volatile("movd	%[crc], %%xmm6\n\t"
		     "movdqu	(%[head]), %%xmm0\n\t"
		     "pxor	%%xmm6, %%xmm0\n\t"
		     "movdqa	%[over_lane], %%xmm4\n\t"
		     "jmp	2f\n"
		     "1:\n\t"
		     MOVE("xmm0", FROM("0", "head", "xmm0"))
		     "2:\n\t"
		     "add	$16, %[head]\n\t"
		     "dec	%[head_lanes]\n\t"
		     "jnz	1b\n\t"
		     "test	%[fours], %[fours]\n\t"
		     "jz	5f\n\t"
		     MOVE("xmm0", FROM("0", "data", "xmm0"))
		     "movdqu	16(%[data]), %%xmm1\n\t"
		     "movdqu	32(%[data]), %%xmm2\n\t"
		     "movdqu	48(%[data]), %%xmm3\n\t"
		     "movdqa	%[over_lanes], %%xmm4\n\t"
		     "jmp	4f\n"
		     "3:\n\t"
		     MOVE("xmm0", FROM("0", "data", "xmm0"))
		     MOVE("xmm1", FROM("16", "data", "xmm1"))
		     MOVE("xmm2", FROM("32", "data", "xmm2"))
		     MOVE("xmm3", FROM("48", "data", "xmm3"))
		     "4:\n\t"
		     "add	$64, %[data]\n\t"
		     "dec	%[fours]\n\t"
		     "jnz	3b\n\t"
		     "movdqa	%[over_lane], %%xmm4\n\t"
		     MOVE("xmm0", "pxor	%%xmm1, %%xmm0\n\t")
		     MOVE("xmm0", "pxor	%%xmm2, %%xmm0\n\t")
		     MOVE("xmm0", "pxor	%%xmm3, %%xmm0\n\t")
		     "5:\n\t"
		     "test	%[left], %[left]\n\t"
		     "jz	7f\n"
		     "6:\n\t"
		     MOVE("xmm0", FROM("0", "data", "xmm0"))
		     "add	$16, %[data]\n\t"
		     "dec	%[left]\n\t"
		     "jnz	6b\n"
		     "7:\n\t"
		     "movq	%[over_word], %%xmm4\n\t"
		     "movdqa	%%xmm0, %%xmm5\n\t"
		     "pclmulqdq $0x00, %%xmm4, %%xmm5\n\t"
		     "psrldq	$8, %%xmm0\n\t"
		     "pslldq	$4, %%xmm0\n\t"
		     "pxor	%%xmm5, %%xmm0\n\t"
		     MOVE_WORD
		     MOVE_WORD
		     "movdqa	%[quotient], %%xmm4\n\t"
		     WORD_BY("xmm0", "0x00")
		     WORD_BY("xmm5", "0x10")
		     "pxor	%%xmm5, %%xmm0\n\t"
		     "psrldq	$4, %%xmm0\n\t"
		     "movd	%%xmm0, %[crc]\n\t"
		     : [crc] "+r" (crc), [head] "+r" (head), [head_lanes] "+r" (head_lanes),
		       [data] "+r" (data), [fours] "+r" (fours), [left] "+r" (left)
		     : [over_lanes] "m" (crc_over_lanes), [over_lane] "m" (crc_over_lane),
		       [over_word] "m" (crc_over_word), [quotient] "m" (crc_quotient)
		     : "memory", "cc");
	return crc;
}

static bool crc_may_fold(void)
{
	return boot_cpu_has(X86_FEATURE_PCLMULQDQ) && irq_fpu_usable() && !in_interrupt();
}

u32 pinion_crc(u32 crc, const u8 *head, size_t head_bytes, const u8 *data, size_t bytes)
{
	size_t folded = bytes - bytes % LANE;

	if (head_bytes + bytes < WORTH || !crc_may_fold())
		return crc32_le(crc32_le(crc, head, head_bytes), data, bytes);
	/* kernel_fpu_begin() does not disable preemption in user-mode Linux. */
	preempt_disable();
	kernel_fpu_begin();
	crc = crc_fold(crc, head, head_bytes / LANE, data, folded / LANE);
	kernel_fpu_end();
	preempt_enable();
	return crc32_le(crc, data + folded, bytes - folded);
}

#endif
