/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Forged RoCEv2 packets, with a correct CRC: from a peer that does not exist, or from an address
 * that is not the address of the peer.
 */
#ifndef PINION_TEST_FORGE_H
#define PINION_TEST_FORGE_H

#include "link.h"

/* Opcodes of reliable connections. */
enum forge_opcode {
	FORGE_SEND_FIRST = 0x00,
	FORGE_SEND_MIDDLE = 0x01,
	FORGE_SEND_LAST = 0x02,
	FORGE_SEND_LAST_IMM = 0x03,
	FORGE_SEND_ONLY = 0x04,
	FORGE_WRITE_FIRST = 0x06,
	FORGE_WRITE_MIDDLE = 0x07,
	FORGE_WRITE_LAST = 0x08,
	FORGE_WRITE_ONLY = 0x0a,
	FORGE_READ_REQUEST = 0x0c,
	FORGE_READ_FIRST = 0x0d,
	FORGE_READ_MIDDLE = 0x0e,
	FORGE_READ_LAST = 0x0f,
	FORGE_READ_ONLY = 0x10,
	FORGE_ACKNOWLEDGE = 0x11,
	FORGE_ATOMIC_ACKNOWLEDGE = 0x12,
	FORGE_FETCH_ADD = 0x14,
	FORGE_FLUSH = 0x1c,
	FORGE_UC_SEND_FIRST = 0x20,
	FORGE_UC_SEND_LAST = 0x22,
	FORGE_UC_SEND_ONLY = 0x24,
	FORGE_UD_SEND_ONLY = 0x64,
	FORGE_CNP = 0x81, /* of any connection */
};

enum { FORGED_QPN = 0x345678, FORGED_PSN = 0xfffffa };

/*
 * Open the raw socket. Skips the test for whoever may not. Packets are by IPv4 or IPv6, as the address
 * of dev is: see device_use_address().
 */
void forge_open(void);
/* From now on packets are from and to this address of the device, which may be of the other family. */
void forge_by(const union ibv_gid *address);
/*
 * The same, and make @end, connected to a forged peer. Skips the test where packets cannot
 * be forged.
 */
void forge_begin(struct end *end, const struct qp_cfg *cfg);
/*
 * From now on packets, but not trains, go to this group, of the family of the device's address; or with
 * NULL to the device itself, as at first.
 */
void forge_to_group(const union ibv_gid *group);
/* From now on packets say that their sender takes part in selective repeat, or not, as at first. */
void forge_selective(bool says);
/* Connect @end to a forged peer at the address of the device itself. */
void forge_connect(struct end *end);
/* The same, which a packet may spoil. Return: whether it is connected. */
bool forge_try_connect(struct end *end);

/* Send a packet. @rest: the @bytes that follow the base header, a multiple of 4. */
void forge(enum forge_opcode opcode, const struct end *to, uint32_t psn,
	   const void *rest, size_t bytes);
/* The same from an address of this host that is not the address of the peer. */
void forge_by_stranger(enum forge_opcode opcode, const struct end *to,
		       uint32_t psn, const void *rest, size_t bytes);

/* The same with the ECN mark of a congested router; by a stranger if @stranger is true. */
void forge_marked(enum forge_opcode opcode, const struct end *to, uint32_t psn,
		  const void *rest, size_t bytes, bool stranger);

/*
 * Listen to the packets that this host receives by IPv4 or IPv6, as those that are sent at this time.
 * forge_hear_cnp() waits for a congestion notification (CNP) to the forged peer, by IPv4, and checks all
 * of it.
 */
void forge_listen(void);
void forge_hear_cnp(void);
/*
 * Wait for a packet of this opcode to the forged peer that has @psn. Return: whether it asks for an
 * acknowledgment.
 */
bool forge_hear_asking(enum forge_opcode opcode, uint32_t psn);

/*
 * Wait for a NAK to the forged peer that names a gap: @count numbers from @gap on are missing. No
 * other acknowledgment or NAK may come first.
 */
void forge_hear_gap(uint32_t expected, uint32_t gap, uint32_t count);
/* Wait for the next NAK to the forged peer, which must have this syndrome and @psn. */
void forge_hear_nak(uint8_t syndrome, uint32_t psn);

/*
 * Count the packets that the forged peer is sent from now on. forge_heard() is how many there were
 * since the last call; it must be called before there are too many to be kept.
 */
void forge_count(void);
unsigned long forge_heard(void);

/* A request of a READ. */
struct forge_read {
	uint32_t psn, length;
	uint64_t addr;
};

/*
 * After forge_count(): the next request of a READ that the forged peer was sent, if there is one.
 * Other packets to it are forgotten.
 */
bool forge_hear_read(struct forge_read *read);

/* A packet of forge_train(); fields as the arguments of forge(). */
struct forged {
	enum forge_opcode opcode;
	const struct end *to;
	uint32_t psn;
	const void *rest;
	size_t bytes;
};

/* The length of a packet from the base header to the CRC. */
size_t forged_bytes(const struct forged *packet);
/*
 * Send @count packets in one buffer by UDP segmentation offload: the network cuts it into pieces of
 * @piece bytes, which need not be the lengths of the packets.
 */
void forge_train(const struct forged *packets, int count, size_t piece);
/* The same to a group; or if that is NULL, to an address of this host that is no device's. */
void forge_train_astray(const union ibv_gid *group,
			const struct forged *packets, int count, size_t piece);

/* Packets that are made first, changed, and sent many at a time. */
enum { FORGE_LARGEST = 40 + 8 + 12 + 32 + 4096 + 4 };

struct forge_packet {
	size_t length;
	uint8_t bytes[FORGE_LARGEST];
};

void forge_make(struct forge_packet *packet, const struct forged *forged);
/* The byte @at of a packet, to change it. */
uint8_t *forge_byte(struct forge_packet *packet, size_t at);
/* The byte @at of its base header, or behind that; and how many are before it, those of IP and UDP. */
uint8_t *forge_bth(struct forge_packet *packet, size_t at);
size_t forge_before(const struct forge_packet *packet);
void forge_set_qpn(struct forge_packet *packet, uint32_t qpn);
void forge_set_psn(struct forge_packet *packet, uint32_t psn);
/* As if it came from an address of this host that is not the address of the peer. */
void forge_set_stranger(struct forge_packet *packet);
/* Make its lengths and its CRC right again. */
void forge_finish(struct forge_packet *packet);
void forge_send(struct forge_packet *packets, int count);
/*
 * Send @count of one length in one buffer, as forge_train() does. They all come from the address that
 * the first one has.
 */
void forge_send_train(const struct forge_packet *packets, int count);

/* Write a header to @to; each returns the size of the header. */
size_t forge_reth(void *to, uint64_t addr, uint32_t rkey, uint32_t length);
size_t forge_aeth(void *to, uint8_t syndrome, uint32_t msn);
size_t forge_atomic(void *to, uint64_t addr, uint32_t rkey, uint64_t swap_add,
		    uint64_t compare);

/* The counter of packets to queue pairs that do not exist: answers to the forged peer. */
#define FORGE_ANSWERS "rx_no_queue"

#endif /* PINION_TEST_FORGE_H */
