#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: decoded.py rxe|pinion FILE

Judges what tshark has decoded of a recording (the suite tshark). FILE has a line for each packet,
with the values of FIELDS between tabs. Each packet must be one of InfiniBand with an opcode that
has a name, without a warning or an error, and the bytes of its payload must be those that its
headers promise. All opcodes that are expected between these devices must be there, by IPv4 and by
IPv6. Prints how many packets there were of each opcode, and the first wrong ones.
"""
import collections
import sys

FIELDS = ("number", "v4", "v6", "protocols", "opcode", "pad", "qpn", "dma", "data", "class", "udp",
          "severity", "message")
WARNING = 0x600000		# of _ws.expert.severity, as in epan/proto.h
NO_CHECKSUM = "Illegal checksum value (0)"
SHOWN = 10
UDP, BTH, ICRC = 8, 12, 4
RC, UC, UD, CNP, XRC = 0x00, 0x20, 0x60, 0x80, 0xA0
ANSWERS = range(0x0D, 0x13)

# Codes of a connection: their names, and the bytes of the headers behind the BTH.
CODES = {
    0x00: ("SEND first", 0), 0x01: ("SEND middle", 0), 0x02: ("SEND last", 0),
    0x03: ("SEND last, immediate", 4), 0x04: ("SEND only", 0), 0x05: ("SEND only, immediate", 4),
    0x06: ("WRITE first", 16), 0x07: ("WRITE middle", 0), 0x08: ("WRITE last", 0),
    0x09: ("WRITE last, immediate", 4), 0x0A: ("WRITE only", 16),
    0x0B: ("WRITE only, immediate", 20), 0x0C: ("READ request", 16),
    0x0D: ("READ response first", 4), 0x0E: ("READ response middle", 0),
    0x0F: ("READ response last", 4), 0x10: ("READ response only", 4), 0x11: ("acknowledge", 4),
    0x12: ("atomic acknowledge", 12), 0x13: ("compare and swap", 28), 0x14: ("fetch and add", 28),
    0x16: ("SEND last, invalidate", 4), 0x17: ("SEND only, invalidate", 4),
    0x1C: ("FLUSH", 20), 0x1D: ("ATOMIC WRITE", 16),
}
SERVICES = {RC: "RC", UC: "UC", UD: "UD", XRC: "XRC"}

# What the programs of the suite surely send, whatever their random lengths.
EITHER = {RC | code for code in range(0x15) if code not in (0x05, 0x09, 0x0B)} | {RC | 0x16, RC | 0x1D}
EITHER |= {UC | code for code in (0x00, 0x01, 0x03, 0x05, 0x06, 0x07, 0x09, 0x0B)}
EITHER |= {UD | 0x04, UD | 0x05}
PINION = {RC | 0x1C} | {XRC | code for code in (0x00, 0x06, 0x0C, 0x0D, 0x11)}
EXPECTED = {"rxe": EITHER, "pinion": EITHER | PINION}


def name(opcode):
    if opcode == CNP | 0x01:
        return "CNP"
    return f"{SERVICES[opcode & 0xE0]} {CODES[opcode & 0x1F][0]}"


def headers(opcode):
    service, code = opcode & 0xE0, opcode & 0x1F
    more = 8 if service == UD else 4 if service == XRC and code not in ANSWERS else 0
    return UDP + BTH + CODES[code][1] + more


def fault(packet):
    """What is wrong with it, or None."""
    if any(int(severity, 0) >= WARNING for severity in packet["severity"].split(",") if severity):
        # RoCEv2 has no checksum of UDP even where other users of IPv6 must have one.
        if not packet["v6"] or packet["message"] != NO_CHECKSUM:
            return packet["message"]
    if "infiniband" not in packet["protocols"].split(":") or "malformed" in packet["protocols"]:
        return f"decoded as {packet['protocols']}"
    opcode = int(packet["opcode"])
    if opcode == CNP | 0x01:
        return None if int(packet["udp"]) == UDP + BTH + 16 + ICRC else "a CNP of another length"
    if opcode & 0xE0 not in SERVICES or opcode & 0x1F not in CODES:
        return f"opcode {opcode:#x}"
    padded = int(packet["udp"]) - headers(opcode) - ICRC
    payload = padded - int(packet["pad"])
    code = opcode & 0x1F
    if payload < 0 or padded % 4:
        return f"{payload} bytes of payload and {packet['pad']} of pad"
    # Of XRC tshark knows the opcodes only.
    if code in (0x0A, 0x0B) and opcode & 0xE0 != XRC and str(payload) != packet["dma"]:
        return f"{payload} bytes of payload for a WRITE of {packet['dma']}"
    if code in (0x0C, 0x11, 0x12, 0x13, 0x14, 0x1C) and padded:
        return f"a payload of {payload} bytes"
    # Of what tshark regards as payload the pad is a part.
    if packet["data"] and padded != int(packet["data"]):
        return f"tshark sees {packet['data']} bytes of payload and pad, not {padded}"
    return None


def main():
    expected = EXPECTED[sys.argv[1]]
    seen = {"IPv4": collections.Counter(), "IPv6": collections.Counter()}
    managed = dict.fromkeys(seen, 0)
    wrong = total = 0
    with open(sys.argv[2], encoding="utf-8") as lines:
        for line in lines:
            packet = dict(zip(FIELDS, line.rstrip("\n").split("\t"), strict=True))
            family = "IPv6" if packet["v6"] else "IPv4"
            total += 1
            why = fault(packet)
            if why:
                wrong += 1
                if wrong <= SHOWN:
                    print(f"wrong: {why}: {packet}")
                continue
            seen[family][int(packet["opcode"])] += 1
            managed[family] += packet["class"] == "0x07"
    print(f"{total} packets, {wrong} of them wrong")
    for family, counts in seen.items():
        print(f"{family}: {managed[family]} of connection management;",
              ", ".join(f"{counts[opcode]} {name(opcode)}" for opcode in sorted(counts)))
        missing = [name(opcode) for opcode in sorted(expected - counts.keys())]
        if missing or not managed[family]:
            print(f"{family}: no {', '.join(missing) or 'connection management'}")
            wrong += 1
    if sys.argv[1] == "pinion" and not seen["IPv4"][CNP | 0x01]:
        print("no CNP")
        wrong += 1
    sys.exit(wrong > 0)


main()
