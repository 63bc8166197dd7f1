#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ping.py NAME COUNT [BYTES]: as ping and ping -6 do it, for roots that have none.

Fails unless each echo comes back, by IPv4 and by IPv6, with the bytes that were sent.
"""
import os
import socket
import struct
import sys


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echoes(family, name, count, length):
    v6 = family == socket.AF_INET6
    request, reply = (128, 129) if v6 else (8, 0)
    address = socket.getaddrinfo(name, 0, family)[0][4]
    s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP)
    s.settimeout(20)
    number = os.getpid() & 0xFFFF
    for i in range(count):
        data = os.urandom(length)
        packet = struct.pack("!BBHHH", request, 0, 0, number, i) + data
        # The kernel adds that of IPv6.
        packet = packet[:2] + struct.pack("!H", 0 if v6 else checksum(packet)) + packet[4:]
        s.sendto(packet, address)
        while True:
            answer = s.recv(65536)
            if not v6:
                answer = answer[(answer[0] & 15) * 4:]
            kind, _, _, n, seq = struct.unpack("!BBHHH", answer[:8])
            if (kind, n, seq) == (reply, number, i):
                break
        if answer[8:] != data:
            sys.exit(f"{name}: echo {i} has other bytes")
    print(f"{count} echoes of {length} bytes from {address[0]}")


for f in socket.AF_INET, socket.AF_INET6:
    echoes(f, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 56)
