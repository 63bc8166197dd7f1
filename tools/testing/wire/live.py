#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: live.py bystander|peer NETDEV COUNT SEED

Sends frames to the other end of NETDEV, derived from frames of connections that pass it at the
moment, with their numbers. A bystander sends frames that must do no harm: copies; copies with
other bits and the old CRC; with a right CRC but from another address or to no queue pair; requests
and responses ahead of those in flight. A peer sends frames with any wrong field and a right CRC,
which may end connections. Needs raw sockets. Prints how many frames of each kind were sent.
"""
import random
import select
import socket
import struct
import sys
import zlib

PORT = 4791
ETH, IP, UDP, BTH = 0, 14, 34, 42
RECENT = 64
# Fields that may change on the way, which the CRC leaves out.
MASKED = (IP + 1, IP + 8, IP + 10, IP + 11, UDP + 6, UDP + 7, BTH + 4)
OPCODES = tuple(range(0x18)) + (0x1C, 0x1D, 0x20, 0x24, 0x2A, 0x64, 0x81, 0xA4, 0xAA)


def add_up(data):
    data = bytes(data) + b"\0" * (len(data) & 1)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def finished(frame):
    """Fill in lengths and checksums. Only half of the frames get a checksum of UDP."""
    struct.pack_into(">H", frame, IP + 2, len(frame) - IP)
    struct.pack_into(">HH", frame, UDP + 4, len(frame) - UDP, 0)
    struct.pack_into(">H", frame, IP + 10, 0)
    struct.pack_into(">H", frame, IP + 10, add_up(frame[IP:UDP]))
    masked = bytearray(frame[IP:-4])
    for at in MASKED:
        masked[at - IP] = 0xFF
    struct.pack_into("<I", frame, len(frame) - 4, zlib.crc32(b"\xff" * 8 + masked))
    if frame[BTH + 11] & 1:
        pseudo = bytes(frame[IP + 12:IP + 20]) + struct.pack(">HH", 17, len(frame) - UDP)
        struct.pack_into(">H", frame, UDP + 6, add_up(pseudo + bytes(frame[UDP:])) or 0xFFFF)
    return frame


def psn(frame):
    return struct.unpack_from(">I", frame, BTH + 8)[0] & 0xFFFFFF


def set_psn(frame, value):
    frame[BTH + 9:BTH + 12] = struct.pack(">I", value & 0xFFFFFF)[1:]


def copy(_, frame):
    return frame


def other_bits(rnd, frame):
    for _ in range(rnd.choice((1, 1, 2, 30))):
        at = rnd.randrange(BTH, len(frame))
        # Change any byte that the CRC covers: without it the packet would be a copy.
        if at != BTH + 4:
            frame[at] ^= 1 << rnd.randrange(8)
    return frame


def from_elsewhere(rnd, frame):
    frame[IP + 15] = rnd.randrange(3, 255)
    set_psn(frame, psn(frame) + rnd.randrange(32))
    return finished(frame)


def to_nobody(rnd, frame):
    frame[BTH + 5:BTH + 8] = struct.pack(">I", rnd.randrange(1 << 24))[1:]
    return finished(frame)


def far_ahead(rnd, frame):
    set_psn(frame, psn(frame) + rnd.randrange(1 << 14, 1 << 22))
    return finished(frame)


def another_opcode(rnd, frame):
    frame[BTH] = rnd.choice(OPCODES) if rnd.randrange(8) else rnd.randrange(256)
    return finished(frame)


def another_psn(rnd, frame):
    set_psn(frame, psn(frame) + rnd.choice((1, -1, 2, 64, -64, rnd.randrange(1 << 24))))
    return finished(frame)


def other_headers(rnd, frame):
    for _ in range(rnd.choice((1, 1, 2, 6))):
        at = rnd.randrange(BTH, min(BTH + 44, len(frame) - 4))
        frame[at] = rnd.choice((0, 0xFF, rnd.randrange(256)))
    return finished(frame)


def another_size(rnd, frame):
    size = rnd.choice((rnd.randrange(BTH + 12, len(frame)), len(frame) + rnd.randrange(64)))
    frame = frame[:size].ljust(max(size, BTH + 16), b"\xa5")
    return finished(frame)


KINDS = {
    "bystander": (copy, other_bits, from_elsewhere, to_nobody, far_ahead),
    "peer": (copy, another_opcode, another_psn, other_headers, another_size, far_ahead),
}


def main():
    kinds, netdev, count = KINDS[sys.argv[1]], sys.argv[2], int(sys.argv[3])
    rnd = random.Random(int(sys.argv[4]))
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raw.bind((netdev, 0))
    raw.setblocking(False)
    recent, sent, idle = [], dict.fromkeys(kinds, 0), 0
    while sum(sent.values()) < count and idle < 100:
        ready = select.select([raw], [], [], 0 if recent else 1)[0]
        for _ in range(8 if ready else 0):
            try:
                frame, address = raw.recvfrom(65536)
            except BlockingIOError:
                break
            # Forward outgoing frames; ours are among them and are forwarded unchanged.
            if (address[2] == socket.PACKET_OUTGOING and len(frame) >= BTH + 16 and
                    frame[IP] == 0x45 and frame[IP + 9] == 17 and
                    struct.unpack_from(">H", frame, UDP + 2)[0] == PORT and
                    frame[BTH + 5:BTH + 8] != b"\0\0\1"):
                # With checksum offload the UDP checksum is not filled in yet here.
                recent = recent[1 - RECENT:] + [frame[:UDP + 6] + b"\0\0" + frame[BTH:]]
        if not recent:
            idle += 1
            continue
        kind = rnd.choice(kinds)
        frame = kind(rnd, bytearray(rnd.choice(recent)))
        try:
            raw.send(frame)
            sent[kind] += 1
        except (BlockingIOError, OSError):
            select.select([], [raw], [], 0.1)
    print(", ".join(f"{n} {kind.__name__}" for kind, n in sent.items()))
    sys.exit(sum(sent.values()) < count)


main()
