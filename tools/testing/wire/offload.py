#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: offload.py NETDEV tx|tso|gro on|off

Sets an offload of a netdev, as `ethtool -K' does; a root may lack ethtool. tx is for checksums, and
those of segmentation depend on it.
"""
import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
COMMANDS = {"tx": 0x17, "tso": 0x1F, "gro": 0x2C}


def main():
    netdev, offload, state = sys.argv[1:4]
    value = array.array("I", (COMMANDS[offload], state == "on"))
    request = struct.pack("16sP", netdev.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


main()
