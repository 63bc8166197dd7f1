#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: flood.py ADDRESS COUNT | flood.py --hold ADDRESS

Sends COUNT packets that belong to no connection to the RoCEv2 port of ADDRESS, without end if
COUNT is 0. With --hold, binds that port at ADDRESS (:: for IPv6 only) until it is killed.
"""
import socket
import sys
import time

PORT = 4791


def hold(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    taken.bind((address, PORT))
    print("bound", flush=True)
    while True:
        time.sleep(1)


def flood(address, count):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sender = socket.socket(family, socket.SOCK_DGRAM)
    packet = bytes((0x64, 0x40, 0xFF, 0xFF, 0, 0, 0, 1)) + bytes(40)
    sent = 0
    while not count or sent < count:
        try:
            sender.sendto(packet, (address, PORT))
        except ConnectionRefusedError:
            pass
        sent += 1


if sys.argv[1] == "--hold":
    hold(sys.argv[2])
else:
    flood(sys.argv[1], int(sys.argv[2]))
