#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: hostile.py COUNT SEED FROM TO FROM6 TO6

Sends unexpected packets to the RoCEv2 port of TO and TO6: COUNT packets of random bytes after an
almost valid header over each of IPv4 and IPv6, and COUNT over IPv4 with a right invariant CRC.
Needs a raw socket. Prints how many packets of each kind were sent.
"""
import random
import socket
import struct
import sys
import zlib

PORT = 4791
OPCODES = (0x64, 0x65, 0x00, 0x04, 0x0a, 0x0c, 0x11, 0x13, 0x24, 0x81)


def header(rnd):
    opcode = rnd.choice(OPCODES) if rnd.randrange(4) else rnd.randrange(256)
    flags = rnd.choice((0x40, 0x50, 0x60, 0x70, 0x00)) if rnd.randrange(8) else rnd.randrange(256)
    qpn = rnd.choice((1, 1, 2, 0xFFFFFF)) if rnd.randrange(2) else rnd.randrange(1 << 24)
    return struct.pack(">BBHII", opcode, flags, 0xFFFF, qpn, rnd.randrange(1 << 32))


def body(rnd):
    # The Q_Key of QP 1, source QP 1
    deth = struct.pack(">II", 0x80010000, 1) if rnd.randrange(2) else b""
    size = rnd.choice((0, 4, 8, 16, 24, 256, 4 * rnd.randrange(300)))
    return header(rnd) + deth + rnd.randbytes(size)


def with_crc(source, target, payload, ident):
    udp = struct.pack(">HHHH", 49152 + ident % 1024, PORT, 12 + len(payload), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 32 + len(payload), ident, 0x4000, 64, 17, 0,
                     socket.inet_aton(source), socket.inet_aton(target))
    masked = bytearray(ip + udp + payload)
    for at in (1, 8, 10, 11, 26, 27, 32):
        masked[at] = 0xFF
    return ip + udp + payload + struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    source, target, _, target6 = sys.argv[3:7]
    rnd = random.Random(seed)
    plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    plain6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for i in range(count):
        junk = body(rnd)[:rnd.choice((1500, 1500, rnd.randrange(64)))]
        plain.sendto(junk, (target, PORT))
        plain6.sendto(junk, (target6, PORT))
        raw.sendto(with_crc(source, target, body(rnd), i & 0xFFFF), (target, 0))
    print(2 * count, "without a CRC,", count, "with one")


main()
