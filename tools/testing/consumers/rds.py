#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: rds.py ADDRESS TEST [PEER]

Tests two RDS sockets over the device that has ADDRESS: both on this machine, or the other one on
the machine with the address PEER, where `rds.py PEER serve' runs. Exit status: 0, or 1 with the
reason."""
import ctypes
import mmap
import os
import socket
import struct
import sys
from multiprocessing.managers import BaseManager

AF_RDS = 21
SOL_RDS = 276
# <linux/rds.h>
FREE_MR = 3
CMSG_RDMA_ARGS = 1
CMSG_RDMA_DEST = 2
CMSG_RDMA_MAP = 3
CMSG_RDMA_STATUS = 4
RDMA_READWRITE = 0x1
RDMA_NOTIFY_ME = 0x20

libc = ctypes.CDLL(None, use_errno=True)


def checked(n):
    if n < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return n


def sockaddr(end):
    # Python does not know this address family; the address has the format of IPv4's.
    address, port = end
    return struct.pack('=H', socket.AF_INET) + struct.pack('!H', port) + socket.inet_aton(address) + bytes(8)


class msghdr(ctypes.Structure):
    _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint32),
                ('iov', ctypes.c_void_p), ('iovlen', ctypes.c_size_t),
                ('control', ctypes.c_void_p), ('controllen', ctypes.c_size_t),
                ('flags', ctypes.c_int)]


class iovec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]


def cmsg(kind, data):
    return struct.pack('=Qii', 16 + len(data), SOL_RDS, kind) + data


class Memory:
    """Bytes at a known address, with offset @skew in a page."""

    def __init__(self, size, skew=0):
        self.map = mmap.mmap(-1, size + skew + mmap.PAGESIZE)
        self.size, self.skew = size, skew
        self.pin = (ctypes.c_char * (size + skew)).from_buffer(self.map)
        self.addr = ctypes.addressof(self.pin) + skew

    def get(self):
        return self.map[self.skew:self.skew + self.size]

    def put(self, data):
        self.map[self.skew:self.skew + len(data)] = data


class End:
    """A socket, and one piece of memory. It may be on another machine, so its methods take and
    return numbers and bytes only."""

    def __init__(self, address, port):
        self.socket = socket.socket(AF_RDS, socket.SOCK_SEQPACKET)
        self.memory = None
        raw = sockaddr((address, port))
        checked(libc.bind(self.socket.fileno(), raw, len(raw)))

    def buffers(self, size):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)

    def send(self, to, data, control=b''):
        name = sockaddr(to)
        name_buf = ctypes.create_string_buffer(name, len(name))
        buf = ctypes.create_string_buffer(data, max(len(data), 1))
        iov = iovec(ctypes.addressof(buf), len(data))
        ctl = ctypes.create_string_buffer(control, max(len(control), 1))
        m = msghdr(ctypes.addressof(name_buf), len(name), ctypes.addressof(iov), 1 if data else 0,
                   ctypes.addressof(ctl) if control else None, len(control), 0)
        return checked(libc.sendmsg(self.socket.fileno(), ctypes.byref(m), 0))

    def receive(self, size):
        """Return the data, and the control messages as {type: data}."""
        buf = ctypes.create_string_buffer(size)
        iov = iovec(ctypes.addressof(buf), size)
        ctl = ctypes.create_string_buffer(512)
        name = ctypes.create_string_buffer(16)
        m = msghdr(ctypes.addressof(name), 16, ctypes.addressof(iov), 1, ctypes.addressof(ctl), 512, 0)
        # poll() reports other events of these sockets as readable, too: wait in recvmsg() itself.
        n = checked(libc.recvmsg(self.socket.fileno(), ctypes.byref(m), 0))
        control, at, raw = {}, 0, ctl.raw[:m.controllen]
        while at + 16 <= len(raw):
            length, level, kind = struct.unpack_from('=Qii', raw, at)
            control[kind] = raw[at + 16:at + length]
            at += (length + 7) & ~7
        return buf.raw[:n], control

    def allocate(self, size, skew):
        self.memory = Memory(size, skew)

    def put(self, data):
        self.memory.put(data)

    def get(self):
        return self.memory.get()

    def offer(self, to):
        """Registers the memory, and sends its cookie. Returns the cookie."""
        cookie = ctypes.c_uint64()
        args = struct.pack('=QQQQ', self.memory.addr, self.memory.size, ctypes.addressof(cookie), RDMA_READWRITE)
        # The kernel registers for a connection, which it creates for the first message.
        self.send(to, b'here', cmsg(CMSG_RDMA_MAP, args))
        return cookie.value

    def free_mr(self, cookie):
        args = struct.pack('=QQ', cookie, 0)
        checked(libc.setsockopt(self.socket.fileno(), SOL_RDS, FREE_MR, args, len(args)))

    def rdma(self, to, cookie, write, token):
        vec = ctypes.create_string_buffer(struct.pack('=QQ', self.memory.addr, self.memory.size), 16)
        args = struct.pack('=QQQQQQQ', cookie, 0, self.memory.size, ctypes.addressof(vec), 1,
                           (RDMA_READWRITE if write else 0) | RDMA_NOTIFY_ME, token)
        self.send(to, b'done', cmsg(CMSG_RDMA_ARGS, args))

    def notified(self, token):
        _, control = self.receive(64)
        assert CMSG_RDMA_STATUS in control, f'no notification: {control}'
        got, status = struct.unpack('=Qi', control[CMSG_RDMA_STATUS][:12])
        assert (got, status) == (token, 0), f'token {got}, status {status}'


class Ends(BaseManager):
    """Makes and commands the ends of another machine."""


Ends.register('End', End)
CONTROL = 4002
KEY = b'rds'


def exchange(size, skews=(0, 0), write=True, token=1):
    """a reads or writes memory of b."""
    b.allocate(size, skews[0])
    a.allocate(size, skews[1])
    data = os.urandom(size)
    (a if write else b).put(data)
    cookie = b.offer(A)
    message, control = a.receive(64)
    assert message == b'here' and CMSG_RDMA_DEST in control, (message, control)
    a.rdma(B, struct.unpack('=Q', control[CMSG_RDMA_DEST][:8])[0], write, token)
    message, _ = b.receive(64)
    assert message == b'done', message
    a.notified(token)
    assert (b if write else a).get() == data, 'other bytes arrived'
    b.free_mr(cookie)


def message(data):
    a.send(B, data)
    got, _ = b.receive(len(data) + 1)
    assert got == data, f'{len(got)} bytes, others than the {len(data)} sent'


def main(test):
    if test == 'messages':
        for n in (1, 100, 4096, 30000):
            message(os.urandom(n))
    elif test == 'large':
        for n in (65536, 100001, 180000):
            a.buffers(1 << 20)
            b.buffers(1 << 20)
            message(os.urandom(n))
    elif test == 'many':
        for i in range(1000):
            message(os.urandom(1 + i * 7))
    # The first message makes the connection.
    elif test in ('write', 'read'):
        message(b'hello')
        for n in (8, 4096, 65536, 1 << 20):
            exchange(n, write=test == 'write')
    elif test == 'unaligned':
        message(b'hello')
        for skews in ((1, 0), (0, 1), (4095, 17), (123, 123)):
            for n in (1, 4095, 10000, 200001):
                exchange(n, skews, True)
                exchange(n, skews, False)
    elif test == 'repeat':
        message(b'hello')
        for i in range(100):
            exchange(40000, (i, 3 * i), i % 2 == 0, i)
    else:
        sys.exit(__doc__)


if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
here, test = sys.argv[1:3]
peer = sys.argv[3] if len(sys.argv) == 4 else here
if test == 'serve':
    Ends((here, CONTROL), KEY).get_server().serve_forever()
A, B = (here, 4000), (peer, 4001)
a = End(*A)
if peer == here:
    b = End(*B)
else:
    ends = Ends((peer, CONTROL), KEY)
    ends.connect()
    b = ends.End(*B)
main(test)
