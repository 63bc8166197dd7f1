// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random packets at the receiver of a connection, in any order: what is performed is the next packet, or,
 * of an unreliable connection, one that fits; messages have the bytes that they say, and what is not performed
 * changes nothing that counts. The input is two bytes with the service, the path MTU and the first number,
 * then six bytes for each packet.
 */
#include <linux/kernel.h>

#include "../../../kernel/logic/op.c"
#include "../../../kernel/logic/packet.c"
#include "../../../kernel/logic/receiver.c"

#include "must.h"

/* What was performed, as the packets said. */
struct performed {
	u32 bytes, length; /* of the message; the length is that of a WRITE */
	bool within, writes;
};

static bool is_write(const struct pinion_packet *packet)
{
	u8 code = packet->opcode % PINION_PACKET_CODES;

	return code >= 0x06 && code <= 0x0b;
}

static bool has_data(const struct pinion_packet *packet)
{
	return packet->opcode % PINION_PACKET_CODES <= 0x0b ||
	       packet->opcode % PINION_PACKET_CODES == 0x16 ||
	       packet->opcode % PINION_PACKET_CODES == 0x17;
}

/* @six: opcode, number, payload, length; how far that is shifted, and what a FLUSH asks for; bits. */
static struct pinion_packet some_packet(const struct pinion_receiver *r,
					const u8 *six)
{
	struct pinion_packet packet = {
		.opcode = six[0],
		.psn = pinion_psn_add(r->expected,
				      six[1] % 4 ? 0 : six[1] / 4 - 8),
		.payload = six[2] % 4 == 0 ? r->mtu :
			   six[2] % 4 == 1 ? r->left :
			   six[2] % 4 == 2 ? 8 :
					     six[2] / 4,
		.length = six[3] % 4 == 0 ? six[3] / 4 * r->mtu :
					    (u32)six[3] << six[4] % 25,
		.flush_types = six[4] % 4,
		.flush_level = six[4] / 4 % 4,
		.selective = six[5] & 1,
	};

	/* As pinion_packet_parse() sees to. */
	if (packet.payload > r->mtu)
		packet.payload = r->mtu;
	if (pinion_packet_kind(packet.opcode) &&
	    pinion_packet_kind(packet.opcode)->payload == PINION_PAYLOAD_NONE)
		packet.payload = 0;
	return packet;
}

static void must_fit(const struct performed *p,
		     const struct pinion_packet *packet, bool again)
{
	bool begins = pinion_packet_kind(packet->opcode)->position &
		      PINION_BEGINS;

	MUST(begins == (again || !p->within));
	if (!begins)
		MUST(p->writes == is_write(packet));
}

static void perform(struct performed *p, const struct pinion_packet *packet)
{
	u8 position = pinion_packet_kind(packet->opcode)->position;

	if (!has_data(packet)) {
		p->within = false;
		return;
	}
	if (position & PINION_BEGINS)
		*p = (struct performed){ .writes = is_write(packet),
					 .length = packet->length };
	p->bytes += packet->payload;
	p->within = !(position & PINION_ENDS);
	if (p->writes)
		MUST(p->within ? p->bytes < p->length : p->bytes == p->length);
	else
		MUST(p->bytes <= PINION_MAX_MSG_SIZE);
}

static void must_be_right(const struct pinion_receiver *before,
			  const struct pinion_receiver *r,
			  const struct pinion_packet *packet,
			  enum pinion_arrival arrival)
{
	s32 ahead = pinion_psn_ahead(packet->psn, before->expected);

	MUST(r->taken == before->taken && r->msn == before->msn &&
	     r->mtu == before->mtu);
	if (!r->reliable) {
		MUST(arrival <= PINION_ARRIVAL_DROP);
		return;
	}
	MUST(arrival != PINION_ARRIVAL_LOST && r->expected == before->expected);
	switch (arrival) {
	case PINION_ARRIVAL_NEW:
	case PINION_ARRIVAL_INVALID:
		MUST(!ahead);
		break;
	case PINION_ARRIVAL_RESTART:
		MUST(!ahead && before->doubtful);
		break;
	case PINION_ARRIVAL_AGAIN:
	case PINION_ARRIVAL_UNANSWERED:
		MUST(ahead < 0);
		break;
	case PINION_ARRIVAL_ANSWER_AGAIN:
		MUST(ahead < 0);
		MUST(pinion_receiver_numbers(packet, r->mtu) <= -ahead);
		break;
	case PINION_ARRIVAL_GAP:
		MUST(ahead > 0 && !before->told && r->told);
		break;
	case PINION_ARRIVAL_EARLY:
		MUST(ahead > 0 && ahead < PINION_EARLY_WINDOW &&
		     packet->selective && !before->others);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct pinion_receiver receiver, before;
	struct performed performed = {};
	struct pinion_packet packet;
	enum pinion_arrival arrival;

	if (size < 2)
		return 0;
	pinion_receiver_init(&receiver, 0xfffff8 + data[1] % 16,
			     256U << data[0] % 5, data[0] & 0x80);
	for (data += 2, size -= 2; size >= 6; data += 6, size -= 6) {
		packet = some_packet(&receiver, data);
		before = receiver;
		arrival = pinion_receiver_look(&receiver, &packet);
		must_be_right(&before, &receiver, &packet, arrival);
		if (arrival == PINION_ARRIVAL_INVALID)
			break;
		/* Of an unreliable connection the rest of the last message is lost then. */
		if (!receiver.reliable && (arrival == PINION_ARRIVAL_LOST ||
					   arrival == PINION_ARRIVAL_RESTART))
			performed.within = false;
		if (arrival != PINION_ARRIVAL_NEW &&
		    arrival != PINION_ARRIVAL_RESTART)
			continue;
		/* Now and then it cannot be performed. */
		if ((data[5] & 0x70) == 0x70) {
			pinion_receiver_defer(&receiver);
			continue;
		}
		must_fit(&performed, &packet,
			 arrival == PINION_ARRIVAL_RESTART);
		perform(&performed, &packet);
		pinion_receiver_take(&receiver, &packet);
		MUST(receiver.expected ==
		     pinion_psn_add(
			     receiver.reliable ? before.expected : packet.psn,
			     pinion_receiver_numbers(&packet, receiver.mtu)));
		MUST(receiver.within == performed.within);
		/* A packet that had come early may have been forged. */
		receiver.doubtful = receiver.reliable &&
				    (data[5] & 0x0e) == 0x0e;
	}
	return 0;
}
