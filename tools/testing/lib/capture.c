// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "capture.h"
#include "harness.h"

enum { UDP_PORT = 4791, ETHER = 14 };

int capture_open(const char *netdev)
{
	struct timeval limit = { .tv_sec = (time_t)patience(20) };
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = if_nametoindex(netdev) };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), on = 1;

	CHECK(fd >= 0);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
		 0);
	CHECK_EQ(setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)),
		 0);
	CHECK_EQ(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int tag_beside(struct msghdr *msg)
{
	struct cmsghdr *c;
	struct tpacket_auxdata aux;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_PACKET ||
		    c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		if (aux.tp_status & TP_STATUS_VLAN_VALID)
			return aux.tp_vlan_tci;
	}
	return -1;
}

/* The next packet that leaves for port 4791. False: with MSG_DONTWAIT among @flags, there is none. */
static bool capture_roce(int fd, struct captured *seen, int flags)
{
	char control[256];
	struct iovec all = { seen->bytes, sizeof(seen->bytes) };
	struct sockaddr_ll from;
	struct msghdr msg;
	uint32_t type;
	ssize_t length;

	for (;;) {
		msg = (struct msghdr){ .msg_name = &from,
				       .msg_namelen = sizeof(from),
				       .msg_iov = &all,
				       .msg_iovlen = 1,
				       .msg_control = control,
				       .msg_controllen = sizeof(control) };
		length = recvmsg(fd, &msg, flags);
		if (length <= 0) {
			CHECK(flags & MSG_DONTWAIT && errno == EAGAIN);
			return false;
		}
		seen->length = length;
		seen->tag = tag_beside(&msg);
		seen->ip = seen->bytes + ETHER;
		type = get16(seen->ip - 2);
		if (type == ETH_P_8021Q) {
			seen->tag = (int)get16(seen->ip);
			seen->ip += 4;
			type = get16(seen->ip - 2);
		}
		if (from.sll_pkttype != PACKET_OUTGOING ||
		    (type != ETH_P_IP && type != ETH_P_IPV6))
			continue;
		seen->v6 = type == ETH_P_IPV6;
		seen->udp = seen->ip + (seen->v6 ? 40 : 20);
		if (get16(seen->udp + 2) == UDP_PORT)
			return true;
	}
}

void capture_next(int fd, struct captured *seen, uint32_t qpn)
{
	const uint8_t *bth;

	do {
		capture_roce(fd, seen, 0);
		bth = seen->udp + 8;
	} while ((uint32_t)(bth[5] << 16 | bth[6] << 8 | bth[7]) != qpn);
}

bool capture_try(int fd, struct captured *seen)
{
	return capture_roce(fd, seen, MSG_DONTWAIT);
}

bool capture_is_empty(int fd)
{
	static struct captured seen;

	return !capture_try(fd, &seen);
}
