// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A sender and a receiver connected by a network that loses, duplicates and reorders packets,
 * against an oracle that knows what was sent: each message is executed once and in order, each
 * response belongs to its request, and nothing is acknowledged before it was executed.
 */
#include <kunit/test.h>
#include <rdma/pinion-abi.h>

#include "../kernel/logic/inflight.h"
#include "../kernel/logic/packet.h"
#include "../kernel/logic/psn.h"
#include "../kernel/logic/receiver.h"
#include "../kernel/logic/sender.h"
#include "random.h"

#define MTU		256
#define MESSAGES	300
#define LONGEST		6		/* packets */
#define LONGEST_READ	20
#define ROOM		256		/* packets in flight */
#define WINDOW		64		/* at most */
#define ASKED		128		/* requests of READs that the responder remembers */
#define TIMEOUT		150
#define RNR_WAIT	20
#define TICKS		400000

enum kind { A_SEND, A_WRITE, A_READ, AN_ATOMIC, KINDS };

struct message {
	enum kind kind;
	u32 psn;
	u32 packets;
	u32 bytes;
	u32 performed;			/* packets that were executed, or parts of a READ */
	u32 answers;
};

struct packet {
	struct pinion_packet packet;
	bool there;
	bool answer;
	u32 due;			/* time of arrival */
	u32 message, index;		/* identify its payload */
};

struct weather {
	u32 loss, twice, late, not_ready;	/* one in this many packets; 0: none */
};

/* A packet that came early, and waits for its turn. */
struct kept {
	struct pinion_run run;
	struct packet packet;
	bool used;
};

/* A part of a READ, as the responder remembers it. */
struct asked {
	u32 psn, packets;
	u32 again;			/* where it was asked for again the last time */
};

struct world {
	struct kunit *test;
	struct rnd_state rnd;
	struct weather weather;
	struct message messages[MESSAGES];
	struct packet network[ROOM];
	u32 slot;			/* of it, for the next packet: they are in order */
	struct pinion_sender sender;
	struct pinion_inflight inflight;
	struct pinion_receiver receiver;
	struct asked asked[ASKED];
	u32 asks;			/* how many there were */
	u32 now, last_news, woken;
	u32 retired;			/* number of messages */
	u32 at, index;			/* what must be executed next */
	u32 lost;
	u32 again;			/* numbers that were sent more than once */
	bool wrong;

	/* Selective repeat: */
	bool selective;
	struct pinion_early requests, answers;
	struct kept kept[2 * PINION_EARLY_WINDOW];
};

/* ------------------------------------------------------ packets that came early */

/* Returns whether @packet is there now, and was not before. */
static bool keep(struct world *w, struct pinion_early *early, const struct packet *packet,
		 u32 expected, u32 *gap)
{
	struct kept *kept;

	for (kept = w->kept; kept < w->kept + ARRAY_SIZE(w->kept) && kept->used; kept++)
		;
	if (kept == w->kept + ARRAY_SIZE(w->kept)) {
		w->wrong = true;
		return false;
	}
	kept->packet = *packet;
	kept->run.psn = packet->packet.psn;
	kept->run.numbers = pinion_receiver_numbers(&packet->packet, MTU);
	kept->used = pinion_early_add(early, &kept->run, expected, gap);
	return kept->used;
}

/* Takes the next one whose turn has come; drops those that came otherwise. */
static bool unkeep(struct pinion_early *early, u32 expected, struct packet *packet)
{
	struct pinion_run *run;
	struct kept *kept;

	while ((run = pinion_early_first(early)) && pinion_early_is_due(run, expected)) {
		kept = container_of(run, struct kept, run);
		pinion_early_remove(run);
		kept->used = false;
		*packet = kept->packet;
		if (!pinion_early_is_over(run, expected))
			return true;
	}
	return false;
}

static void forget_kept(struct pinion_early *early)
{
	struct pinion_run *run;

	while ((run = pinion_early_first(early))) {
		pinion_early_remove(run);
		container_of(run, struct kept, run)->used = false;
	}
}

static bool happens(struct world *w, u32 one_in)
{
	return one_in && random_one_in(&w->rnd, one_in);
}

static void network_carry_once(struct world *w, const struct packet *packet)
{
	struct packet *slot;
	u32 i;

	for (i = 0; i < ROOM && w->network[w->slot % ROOM].there; i++)
		w->slot++;
	if (i == ROOM || happens(w, w->weather.loss)) {
		w->lost++;
		return;
	}
	slot = &w->network[w->slot++ % ROOM];
	*slot = *packet;
	slot->there = true;
	slot->due = w->now + 5;
	if (happens(w, w->weather.late))
		slot->due += random_below(&w->rnd, 40);
}

static void network_carry(struct world *w, const struct packet *packet)
{
	network_carry_once(w, packet);
	if (happens(w, w->weather.twice))
		network_carry_once(w, packet);
}

static struct message *message_at(struct world *w, u32 psn)
{
	u32 i;

	for (i = 0; i < MESSAGES; i++)
		if (pinion_psn_within(psn, w->messages[i].psn, w->messages[i].packets))
			return &w->messages[i];
	return NULL;
}

static bool has_answer(const struct message *message)
{
	return message->kind == A_READ || message->kind == AN_ATOMIC;
}

/* ------------------------------------------------------------------ requester */

static u8 opcode_of(const struct message *message, u32 index)
{
	bool first = !index, last = index == message->packets - 1;

	if (message->kind == A_READ)
		return PINION_READ_REQUEST;
	if (message->kind == AN_ATOMIC)
		return PINION_FETCH_ADD;
	if (message->kind == A_SEND)
		return first && last ? PINION_SEND_ONLY_IMM : first ? PINION_SEND_FIRST :
		       last ? PINION_SEND_LAST_INV : PINION_SEND_MIDDLE;
	return first && last ? PINION_WRITE_ONLY : first ? PINION_WRITE_FIRST :
	       last ? PINION_WRITE_LAST_IMM : PINION_WRITE_MIDDLE;
}

/* Packets of one request from @index on. */
static u32 requester_packets(struct world *w, const struct message *message, u32 index)
{
	if (message->kind != A_READ)
		return 1;
	return pinion_sender_part(&w->sender, pinion_psn_add(message->psn, index),
				  message->packets - index, w->inflight.window);
}

/* As pinion_requester_has_room(). */
static bool requester_has_room(struct world *w, u32 packets)
{
	if (pinion_sender_first(&w->sender) == w->sender.una)
		packets = 1;
	return pinion_sender_room(&w->sender, w->inflight.window) >= packets;
}

static void requester_send_one(struct world *w, struct message *message)
{
	u32 psn = pinion_sender_first(&w->sender), index = pinion_psn_ahead(psn, message->psn);
	u32 packets = requester_packets(w, message, index);
	u32 rest = message->bytes - index * MTU;
	struct packet packet = {
		.packet = {
			.opcode = opcode_of(message, index),
			.psn = psn,
			.selective = w->selective,
		},
		.message = message - w->messages,
		.index = index,
	};

	if (message->kind == A_SEND || message->kind == A_WRITE)
		packet.packet.payload = min(rest, MTU);
	if (message->kind == A_WRITE && !index)
		packet.packet.length = rest;
	if (message->kind == A_READ)
		packet.packet.length = min(rest, packets * MTU);
	network_carry(w, &packet);
	w->again += pinion_psn_ahead(psn, w->sender.end) < 0 ? packets : 0;
	if (has_answer(message))
		pinion_sender_ask(&w->sender, packets);
	pinion_sender_sent(&w->sender, packets);
	if (has_answer(message) && !w->sender.owed)
		pinion_sender_owe(&w->sender, psn);
}

static void requester_send(struct world *w)
{
	struct message *message;
	u32 i, index;

	for (i = 0; i < 4; i++) {
		message = message_at(w, pinion_sender_first(&w->sender));
		if (!message)
			return;
		index = pinion_psn_ahead(pinion_sender_first(&w->sender), message->psn);
		if (!requester_has_room(w, requester_packets(w, message, index)))
			return;
		if (!pinion_sender_awaits(&w->sender))
			w->last_news = w->now;
		requester_send_one(w, message);
	}
}

/* Tells the sender about the next message after @message that was sent and expects a response. */
static void requester_owe_next(struct world *w, struct message *message)
{
	for (message++; message < w->messages + MESSAGES; message++)
		if (has_answer(message)) {
			if (pinion_psn_ahead(message->psn, w->sender.end) >= 0)
				break;
			pinion_sender_owe(&w->sender, message->psn);
			return;
		}
	pinion_sender_owe_none(&w->sender);
}

static void requester_take_answer(struct world *w, const struct packet *packet)
{
	struct message *message = message_at(w, packet->packet.psn);
	u32 index = pinion_psn_ahead(packet->packet.psn, message->psn);

	if (message != &w->messages[packet->message] || index != packet->index ||
	    message->answers != index)
		w->wrong = true;
	message->answers++;
	pinion_sender_take(&w->sender);
	if (message->answers == message->packets)
		requester_owe_next(w, message);
	pinion_sender_settle(&w->sender);
}

/* Keep an answer that came early. Returns what the sender decides about those before it. */
static enum pinion_sender_step requester_keep(struct world *w, const struct packet *packet)
{
	u32 psn = packet->packet.psn, due = w->sender.due, gap;
	enum pinion_sender_step step = PINION_SENDER_STALE;

	if (!keep(w, &w->answers, packet, due, &gap))
		return step;
	if (!w->sender.back)
		step = pinion_sender_early(&w->sender, due, pinion_early_first(&w->answers)->psn);
	if (pinion_sender_early(&w->sender, gap, psn) == PINION_SENDER_RESEND)
		step = PINION_SENDER_RESEND;
	return step;
}

static enum pinion_sender_step requester_step(struct world *w, const struct packet *packet)
{
	u32 psn = packet->packet.psn, msn = packet->packet.msn;

	pinion_sender_heard(&w->sender, psn, w->selective);
	if (packet->packet.syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_GAP))
		return pinion_sender_gap(&w->sender, psn,
					 pinion_psn_add(psn, msn >> PINION_GAP_BITS),
					 msn & PINION_GAP_MASK);
	if (packet->packet.opcode == PINION_ACKNOWLEDGE)
		return pinion_sender_acknowledge(&w->sender, psn, packet->packet.syndrome);
	if (w->selective && pinion_sender_is_early(&w->sender, psn))
		return requester_keep(w, packet);
	return pinion_sender_answer(&w->sender, psn);
}

static void requester_hear_one(struct world *w, const struct packet *packet)
{
	u32 una = w->sender.una;
	enum pinion_sender_step step = requester_step(w, packet);

	switch (step) {
	case PINION_SENDER_ANSWERED:
		requester_take_answer(w, packet);
		break;
	case PINION_SENDER_WAIT:
		w->woken = w->now + RNR_WAIT;
		break;
	case PINION_SENDER_REFUSED:
	case PINION_SENDER_GIVE_UP:
	case PINION_SENDER_GIVE_UP_RNR:
		w->wrong = true;
		break;
	default:
		break;
	}
	if (step == PINION_SENDER_RESEND)
		pinion_inflight_lost(&w->inflight);
	pinion_inflight_acknowledged(&w->inflight, pinion_psn_ahead(w->sender.una, una));
	if (w->sender.una != una || step == PINION_SENDER_RESEND)
		w->last_news = w->now;
	/* An acknowledgment must not come before execution. */
	if (pinion_psn_ahead(w->sender.una, w->receiver.expected) > 0)
		w->wrong = true;
}

static void requester_hear(struct world *w, const struct packet *packet)
{
	struct packet kept;

	requester_hear_one(w, packet);
	while (w->sender.owed && unkeep(&w->answers, w->sender.due, &kept))
		requester_hear_one(w, &kept);
}

static void requester_retire(struct world *w)
{
	struct message *message;

	for (; w->retired < MESSAGES; w->retired++) {
		message = &w->messages[w->retired];
		if (pinion_psn_ahead(w->sender.una, message->psn + message->packets) < 0)
			return;
		if (w->retired >= w->at ||
		    message->answers != (has_answer(message) ? message->packets : 0))
			w->wrong = true;
	}
}

static void requester_tick(struct world *w)
{
	if (w->sender.waiting && w->now >= w->woken)
		pinion_sender_wake(&w->sender);
	if (pinion_sender_awaits(&w->sender) && w->now - w->last_news > TIMEOUT) {
		if (pinion_sender_timeout(&w->sender) != PINION_SENDER_RESEND)
			w->wrong = true;
		pinion_inflight_late(&w->inflight);
		w->last_news = w->now;
	}
	requester_send(w);
	requester_retire(w);
}

/* ------------------------------------------------------------------ responder */

static void responder_say(struct world *w, u32 psn, u8 syndrome)
{
	struct packet packet = {
		.packet = { .opcode = PINION_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome },
		.answer = true,
	};

	network_carry(w, &packet);
}

static void responder_say_gap(struct world *w, u32 gap, u32 end)
{
	u32 expected = w->receiver.expected;
	struct packet packet = {
		.packet = {
			.opcode = PINION_ACKNOWLEDGE,
			.psn = expected,
			.syndrome = PINION_AETH_NAK | PINION_NAK_CODE_GAP,
			.msn = pinion_gap_msn(pinion_psn_ahead(gap, expected),
					      pinion_psn_ahead(end, gap)),
		},
		.answer = true,
	};

	network_carry(w, &packet);
}

/* Responds from the packet of @request on; a repeated READ may be a part of a message. */
static void responder_answer(struct world *w, const struct packet *request)
{
	struct message *message = &w->messages[request->message];
	u32 packets = pinion_receiver_numbers(&request->packet, MTU);
	struct packet packet = {
		.packet = { .opcode = message->kind == A_READ ? PINION_READ_MIDDLE :
						 PINION_ATOMIC_ACKNOWLEDGE },
		.answer = true,
		.message = request->message,
	};
	u32 i;

	for (i = request->index; i < request->index + packets; i++) {
		packet.index = i;
		packet.packet.psn = pinion_psn_add(message->psn, i);
		network_carry(w, &packet);
	}
}

static void responder_remember_read(struct world *w, const struct packet *packet)
{
	u32 psn = packet->packet.psn;

	w->asked[w->asks++ % ASKED] = (struct asked){
		.psn = psn,
		.packets = pinion_receiver_numbers(&packet->packet, MTU),
		.again = psn,
	};
}

/*
 * Is a READ that comes again within one that came before? As rdma_rxe a responder that does not
 * take part in selective repeat answers nothing before what it was asked for again.
 */
static bool responder_was_asked(struct world *w, const struct packet *packet)
{
	u32 packets = pinion_receiver_numbers(&packet->packet, MTU), psn = packet->packet.psn, i;
	struct asked *asked;

	for (i = 0; i < min(w->asks, ASKED); i++) {
		asked = &w->asked[i];
		if (!pinion_psn_within(psn, asked->psn, asked->packets))
			continue;
		if (psn + packets > asked->psn + asked->packets ||
		    (!w->selective && pinion_psn_ahead(psn, asked->again) < 0))
			return false;
		asked->again = psn;
		return true;
	}
	return false;
}

/* Must be the packet that the oracle expects next. */
static void responder_perform(struct world *w, const struct packet *packet)
{
	struct message *message = &w->messages[packet->message];

	if (packet->message != w->at || packet->index != w->index)
		w->wrong = true;
	message->performed++;
	w->index += pinion_receiver_numbers(&packet->packet, MTU);
	if (w->index >= message->packets) {
		w->at++;
		w->index = 0;
	}
}

static void responder_new(struct world *w, const struct packet *packet)
{
	if (happens(w, w->weather.not_ready)) {
		forget_kept(&w->requests);
		pinion_receiver_defer(&w->receiver);
		responder_say(w, packet->packet.psn, PINION_AETH_RNR | 1);
		return;
	}
	responder_perform(w, packet);
	if (w->messages[packet->message].kind == A_READ)
		responder_remember_read(w, packet);
	pinion_receiver_take(&w->receiver, &packet->packet);
	if (has_answer(&w->messages[packet->message]))
		responder_answer(w, packet);
	else if (!w->index || random_one_in(&w->rnd, 2))
		responder_say(w, packet->packet.psn, PINION_AETH_ACK | PINION_AETH_UNLIMITED);
}

static void responder_keep(struct world *w, const struct packet *packet)
{
	u32 psn = packet->packet.psn, gap;

	if (!keep(w, &w->requests, packet, w->receiver.expected, &gap))
		return;
	if (pinion_receiver_tell(&w->receiver)) {
		responder_say_gap(w, w->receiver.expected, pinion_early_first(&w->requests)->psn);
		if (pinion_early_first(&w->requests)->psn == psn)
			return;
	}
	if (gap != psn)
		responder_say_gap(w, gap, psn);
}

static void responder_hear_one(struct world *w, const struct packet *packet)
{
	u32 done = pinion_psn_add(w->receiver.expected, -1);

	switch (pinion_receiver_look(&w->receiver, &packet->packet)) {
	case PINION_ARRIVAL_NEW:
		responder_new(w, packet);
		break;
	case PINION_ARRIVAL_AGAIN:
		responder_say(w, done, PINION_AETH_ACK | PINION_AETH_UNLIMITED);
		break;
	case PINION_ARRIVAL_ANSWER_AGAIN:
		if (w->messages[packet->message].kind != A_READ || responder_was_asked(w, packet))
			responder_answer(w, packet);
		break;
	case PINION_ARRIVAL_GAP:
		responder_say(w, w->receiver.expected, PINION_AETH_NAK | PINION_NAK_CODE_SEQUENCE);
		break;
	case PINION_ARRIVAL_EARLY:
		responder_keep(w, packet);
		break;
	case PINION_ARRIVAL_DROP:
	case PINION_ARRIVAL_UNANSWERED:
		break;
	default:
		w->wrong = true;
	}
}

static void responder_hear(struct world *w, const struct packet *packet)
{
	struct packet kept;

	responder_hear_one(w, packet);
	while (unkeep(&w->requests, w->receiver.expected, &kept))
		responder_hear_one(w, &kept);
}

/* ----------------------------------------------------------------------- both */

static void world_write_messages(struct world *w, u32 psn)
{
	struct message *message;

	for (message = w->messages; message < w->messages + MESSAGES; message++) {
		*message = (struct message){
			.kind = random_below(&w->rnd, KINDS),
			.psn = psn & PINION_PSN_MASK,
			.packets = 1 + random_below(&w->rnd, LONGEST),
		};
		if (message->kind == AN_ATOMIC)
			message->packets = 1;
		if (message->kind == A_READ)
			message->packets = 1 + random_below(&w->rnd, LONGEST_READ);
		message->bytes = (message->packets - 1) * MTU + 1 + random_below(&w->rnd, MTU);
		psn += message->packets;
	}
}

static struct world *world_make(struct kunit *test, const struct weather *weather, u32 seed)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	u32 psn;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->test = test;
	w->weather = *weather;
	random_begin(&w->rnd, seed);
	psn = pinion_psn_add(0, -random_below(&w->rnd, 600));
	world_write_messages(w, psn);
	pinion_sender_init(&w->sender, psn, 7, 7);
	pinion_inflight_init(&w->inflight, WINDOW);
	pinion_receiver_init(&w->receiver, psn, MTU, true);
	pinion_early_init(&w->requests);
	pinion_early_init(&w->answers);
	return w;
}

static void world_tick(struct world *w)
{
	u32 i, first = w->slot;
	struct packet *slot, packet;

	w->now++;
	for (i = first; i != first + ROOM; i++) {
		slot = &w->network[i % ROOM];
		if (!slot->there || slot->due > w->now)
			continue;
		packet = *slot;
		slot->there = false;
		if (packet.answer)
			requester_hear(w, &packet);
		else
			responder_hear(w, &packet);
	}
	requester_tick(w);
}

static void world_expect_all_done(struct world *w)
{
	const struct message *message;
	u32 wrong = 0, msn = 0;

	KUNIT_EXPECT_FALSE(w->test, w->wrong);
	KUNIT_EXPECT_EQ(w->test, w->retired, MESSAGES);
	KUNIT_EXPECT_EQ(w->test, w->at, MESSAGES);
	for (message = w->messages; message < w->messages + MESSAGES; message++) {
		/* Each part of a READ counts as a message. */
		if (message->kind == A_READ)
			wrong += !message->performed || message->performed > message->packets;
		else
			wrong += message->performed != message->packets;
		msn += message->kind == A_READ ? message->performed : 1;
	}
	KUNIT_EXPECT_EQ(w->test, wrong, 0);
	KUNIT_EXPECT_EQ(w->test, w->receiver.msn, msn);
}

static struct world *world_run(struct kunit *test, const struct weather *weather, u32 seed,
			       bool selective)
{
	struct world *w = world_make(test, weather, seed);

	w->selective = selective;
	while (w->retired < MESSAGES && !w->wrong && w->now < TICKS)
		world_tick(w);
	return w;
}

static void streams_arrive(struct kunit *test, bool selective)
{
	static const struct weather weathers[] = {
		{},
		{ .loss = 100 }, { .loss = 10 },
		{ .twice = 5 }, { .late = 20 },
		{ .not_ready = 30 },
		{ .loss = 30, .twice = 10 },
		{ .loss = 50, .twice = 20, .late = 50, .not_ready = 50 },
		{ .loss = 20, .twice = 7, .late = 9, .not_ready = 20 },
	};
	u32 i, seed, ticks, lost, again;
	struct world *w;

	for (i = 0; i < ARRAY_SIZE(weathers); i++) {
		ticks = 0;
		lost = 0;
		again = 0;
		for (seed = 0; seed < 12; seed++) {
			w = world_run(test, &weathers[i], 1000 * i + seed, selective);
			world_expect_all_done(w);
			ticks += w->now;
			lost += w->lost;
			again += w->again;
			kunit_kfree(test, w);
		}
		kunit_info(test, "weather %u: %u ticks, %u packets lost, %u sent again", i, ticks,
			   lost, again);
	}
}

static void streams_arrive_once_and_in_order(struct kunit *test)
{
	streams_arrive(test, false);
}

static void and_so_they_do_by_selective_repeat(struct kunit *test)
{
	streams_arrive(test, true);
}

/* The numbers that are sent more than once, on the same networks. */
static u32 sent_again(struct kunit *test, const struct weather *weather, bool selective)
{
	struct world *w;
	u32 seed, again = 0;

	for (seed = 0; seed < 12; seed++) {
		w = world_run(test, weather, 50000 + seed, selective);
		world_expect_all_done(w);
		again += w->again;
		kunit_kfree(test, w);
	}
	return again;
}

static void selective_repeat_sends_what_was_lost(struct kunit *test)
{
	static const struct weather weather = { .loss = 100 };
	u32 all = sent_again(test, &weather, false);
	u32 lost = sent_again(test, &weather, true);

	kunit_info(test, "%u numbers are sent again, %u by selective repeat", all, lost);
	KUNIT_EXPECT_GT(test, lost, 0);
	KUNIT_EXPECT_LT(test, 3 * lost, all);
}

/* If the network has no faults, nothing is sent twice, and the time limit is not needed. */
static void a_good_network_needs_no_timer(struct kunit *test)
{
	static const struct weather good = {};
	struct world *w = world_run(test, &good, 5, false);
	u32 packets = pinion_psn_ahead(w->sender.end, w->messages[0].psn);

	world_expect_all_done(w);
	KUNIT_EXPECT_EQ(test, w->lost, 0);
	KUNIT_EXPECT_EQ(test, w->sender.retry_left, 7);
	/* At least 64 packets in ten ticks; and one timeout may wait for the last ACK. */
	KUNIT_EXPECT_LE(test, w->now, packets + 2 * TIMEOUT);
}

/* ----------------------------------------------------------------- unreliable */

/*
 * UC over a network that loses packets: exactly the messages that arrive as a whole are taken.
 * READs and atomics are replaced.
 */
static void an_unreliable_stream_is_of_whole_messages(struct kunit *test)
{
	static const struct weather weather = {};
	struct world *w = world_make(test, &weather, 77);
	struct pinion_receiver r;
	u32 round, i, index, came, taken, whole = 0;

	for (round = 0; round < 50; round++) {
		world_write_messages(w, random_below(&w->rnd, 1 << 24));
		pinion_receiver_init(&r, w->messages[0].psn, MTU, false);
		for (i = 0; i < MESSAGES; i++) {
			struct message *message = &w->messages[i];

			if (has_answer(message))
				message->kind = i % 2 ? A_SEND : A_WRITE;
			came = 0;
			taken = 0;
			for (index = 0; index < message->packets; index++) {
				struct pinion_packet packet = {
					.opcode = PINION_TRANSPORT_UC | opcode_of(message, index),
					.psn = pinion_psn_add(message->psn, index),
					.payload = min(message->bytes - index * MTU, MTU),
					.length = index ? 0 : message->bytes,
				};
				enum pinion_arrival what;

				/* UC has no SEND with invalidate. */
				if (packet.opcode == (PINION_TRANSPORT_UC | PINION_SEND_LAST_INV))
					packet.opcode = PINION_TRANSPORT_UC | PINION_SEND_LAST;
				if (random_one_in(&w->rnd, 8))
					continue;
				came++;
				what = pinion_receiver_look(&r, &packet);
				if (what != PINION_ARRIVAL_NEW && what != PINION_ARRIVAL_RESTART)
					continue;
				taken++;
				/* All earlier packets of its message have arrived. */
				KUNIT_EXPECT_EQ(test, taken, index + 1);
				pinion_receiver_take(&r, &packet);
			}
			KUNIT_EXPECT_TRUE(test, came < message->packets || taken == came);
			whole += taken == message->packets;
		}
	}
	kunit_info(test, "%u of %u messages arrived", whole, 50 * MESSAGES);
	KUNIT_EXPECT_GT(test, whole, 50 * MESSAGES / 3);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(streams_arrive_once_and_in_order),
	KUNIT_CASE(and_so_they_do_by_selective_repeat),
	KUNIT_CASE(selective_repeat_sends_what_was_lost),
	KUNIT_CASE(a_good_network_needs_no_timer),
	KUNIT_CASE(an_unreliable_stream_is_of_whole_messages),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_connection",
	.test_cases = cases,
};

kunit_test_suites(&suite);
