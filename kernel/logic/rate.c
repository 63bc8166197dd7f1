// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DCQCN: cuts and raises of a rate. The constants are those of the paper, but for the period, which
 * is longer, as it is in hardware: software cannot react within 55 us.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "rate.h"

#define ALPHA_ONE	65536U
#define ALPHA_SHIFT	8		/* the weight of what is new in @alpha: 1/256 */
#define ALPHA_NS	(55 * NSEC_PER_USEC)
#define RAISE_NS	(300 * NSEC_PER_USEC)
#define RAISE_BYTES	(10ULL << 20)
/* The first raises go half way back to the rate before the cut each; later ones exceed it. */
#define FAST_RAISES	5
#define STEP		5000000ULL	/* bytes per second */
#define LARGE_STEP	50000000ULL
/* The shortest period of measuring: a step of a coarse clock may take that long. */
#define MEASURED_NS	(20 * NSEC_PER_MSEC)

void pinion_rate_init(struct pinion_rate *rate)
{
	*rate = (struct pinion_rate){};
}

/* ------------------------------------------------------------- up and down */

/* How far to raise @target. Large and growing if both time and bytes have caused many raises. */
static u64 rate_step(const struct pinion_rate *rate)
{
	u32 fewer = min(rate->periods, rate->rounds);

	if (max(rate->periods, rate->rounds) <= FAST_RAISES)
		return 0;
	if (fewer <= FAST_RAISES)
		return STEP;
	return LARGE_STEP * (fewer - FAST_RAISES);
}

static void rate_raise(struct pinion_rate *rate)
{
	rate->target += rate_step(rate);
	rate->rate = (rate->rate + rate->target) / 2;
	if (rate->rate >= PINION_RATE_MOST)
		pinion_rate_init(rate);
}

/* Apply what has become due since the last call. The limit ends after a second at most. */
static void rate_catch_up(struct pinion_rate *rate, u64 now)
{
	while (rate->limited && rate->raised + RAISE_NS <= now) {
		rate->raised += RAISE_NS;
		rate->periods++;
		rate_raise(rate);
	}
	while (rate->limited && rate->decayed + ALPHA_NS <= now) {
		rate->decayed += ALPHA_NS;
		rate->alpha -= rate->alpha >> ALPHA_SHIFT;
	}
}

/* Begin to limit, on the first notification, at the measured rate. */
static void rate_limit(struct pinion_rate *rate, u64 now)
{
	u64 measured = rate->measured ?: PINION_RATE_MOST;

	*rate = (struct pinion_rate){
		.limited = true,
		.rate = clamp(measured, PINION_RATE_LEAST, PINION_RATE_MOST),
		.alpha = ALPHA_ONE,
		.due = now,
	};
}

bool pinion_rate_notified(struct pinion_rate *rate, u64 now)
{
	rate_catch_up(rate, now);
	if (!rate->limited)
		rate_limit(rate, now);
	else if (now < rate->cut + PINION_RATE_CUT_NS)
		return false;
	rate->target = rate->rate;
	rate->rate -= rate->rate * rate->alpha / (2 * ALPHA_ONE);
	rate->rate = max(rate->rate, PINION_RATE_LEAST);
	rate->alpha += (ALPHA_ONE - rate->alpha) >> ALPHA_SHIFT;
	rate->cut = now;
	rate->decayed = now;
	rate->raised = now;
	rate->periods = 0;
	rate->rounds = 0;
	rate->sent = 0;
	return true;
}

/* ----------------------------------------------------------------- sending */

static void rate_measure(struct pinion_rate *rate, u64 bytes, u64 now)
{
	u64 took = now - rate->begun;

	if (!rate->begun || took >= MEASURED_NS) {
		/* The measurement is invalid if the sender was idle, or the clock went back. */
		rate->measured = rate->begun && took < 2 * MEASURED_NS ?
				 div64_u64(rate->count * NSEC_PER_SEC, took) : 0;
		rate->begun = now;
		rate->count = 0;
	}
	rate->count += bytes;
}

static void rate_spend(struct pinion_rate *rate, u64 bytes, u64 now)
{
	/* An idle sender accumulates no credit beyond the lateness of a timer. */
	rate->due = max(rate->due + PINION_RATE_AHEAD_NS, now) - PINION_RATE_AHEAD_NS;
	rate->due += div64_u64(bytes * NSEC_PER_SEC, rate->rate);
	rate->sent += bytes;
	while (rate->limited && rate->sent >= RAISE_BYTES) {
		rate->sent -= RAISE_BYTES;
		rate->rounds++;
		rate_raise(rate);
	}
}

void pinion_rate_sent(struct pinion_rate *rate, u64 bytes, u64 now)
{
	rate_catch_up(rate, now);
	if (rate->limited)
		rate_spend(rate, bytes, now);
	else
		rate_measure(rate, bytes, now);
}

u64 pinion_rate_pause(struct pinion_rate *rate, u64 now)
{
	rate_catch_up(rate, now);
	if (!rate->limited || rate->due <= now + PINION_RATE_AHEAD_NS)
		return 0;
	return rate->due - now;
}

u64 pinion_rate_room(const struct pinion_rate *rate, u64 now)
{
	u64 until = now + PINION_RATE_AHEAD_NS;

	if (!rate->limited)
		return U64_MAX;
	if (until <= rate->due)
		return 0;
	/* The product cannot overflow: see rate_spend() for how far behind @due can be. */
	return div_u64(rate->rate / 1000 * min(until - rate->due, 2 * PINION_RATE_AHEAD_NS),
		       NSEC_PER_SEC / 1000);
}
