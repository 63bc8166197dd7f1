#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: smc.py ADDRESS DEVICE TEST

Tests SMC-R: stream sockets on one machine that begin as TCP connections to ADDRESS and move their
data to DEVICE. TEST is `setup', which makes the kernel use DEVICE for them, or one of those below.
Exit status: 0, or 1 with the reason."""
import errno
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

AF_SMC = 43
NETLINK_GENERIC = 16
# <linux/genetlink.h>
GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID = 1
CTRL_ATTR_FAMILY_NAME = 2
# <linux/smc.h>
SMC_PNETID_ADD = 2
SMC_PNETID_NAME = 1
SMC_PNETID_ETHNAME = 2
SMC_PNETID_IBNAME = 3
SMC_PNETID_IBPORT = 4
SMC_NETLINK_ADD_UEID = 10
SMC_NLA_EID_TABLE_ENTRY = 1
SMC_MAX_EID_LEN = 32
# <linux/sock_diag.h>, <linux/smc_diag.h>
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
SMC_DIAG_LGRINFO = 2
SMC_DIAG_FALLBACK = 5
MODE_SMCR, MODE_TCP = 0, 1


class Netlink:
    REQUEST, ACK, DUMP = 1, 4, 0x300
    ERROR, DONE = 2, 3

    def __init__(self, protocol):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)

    def ask(self, kind, body, how):
        """Return the bodies of the answers."""
        self.socket.send(struct.pack('=IHHII', 16 + len(body), kind, self.REQUEST | how, 1, 0) + body)
        answers = []
        while True:
            data, at = self.socket.recv(1 << 17), 0
            while at < len(data):
                length, kind = struct.unpack_from('=IH', data, at)
                body = data[at + 16:at + length]
                if kind == self.ERROR and struct.unpack_from('=i', body)[0]:
                    e = -struct.unpack_from('=i', body)[0]
                    raise OSError(e, os.strerror(e))
                if kind in (self.ERROR, self.DONE):
                    return answers
                answers.append(body)
                at += (length + 3) & ~3


def attribute(kind, data):
    return struct.pack('=HH', 4 + len(data), kind) + data + bytes(-len(data) % 4)


def attributes(data):
    found, at = {}, 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from('=HH', data, at)
        found[kind] = data[at + 4:at + length]
        at += (length + 3) & ~3
    return found


def generic(family, command, *what):
    netlink = Netlink(NETLINK_GENERIC)
    header = struct.pack('=BBH', CTRL_CMD_GETFAMILY, 1, 0)
    answer = netlink.ask(GENL_ID_CTRL, header + attribute(CTRL_ATTR_FAMILY_NAME, family + b'\0'), Netlink.ACK)
    number = struct.unpack('=H', attributes(answer[0][4:])[CTRL_ATTR_FAMILY_ID])[0]
    return netlink.ask(number, struct.pack('=BBH', command, 1, 0) + b''.join(what), Netlink.ACK)


def setup():
    """The kernel finds an RDMA device by the name of a physical net. Connections to an address of
    this machine go through lo, so lo and the device are made parts of one such net. Version 2 of
    the protocol, which uses RoCEv2, also needs a name that both ends know."""
    generic(b'SMC_PNETID', SMC_PNETID_ADD, attribute(SMC_PNETID_NAME, b'PINION\0'),
            attribute(SMC_PNETID_ETHNAME, b'lo\0'), attribute(SMC_PNETID_IBNAME, device.encode() + b'\0'),
            attribute(SMC_PNETID_IBPORT, b'\1'))
    generic(b'SMC_GEN_NETLINK', SMC_NETLINK_ADD_UEID,
            attribute(SMC_NLA_EID_TABLE_ENTRY, b'PINION'.ljust(SMC_MAX_EID_LEN) + b'\0'))


def diagnosis(s):
    """Return what smc_diag says of the socket: by what it moves its data, and attributes."""
    request = struct.pack('=BxxB', AF_SMC, 1 << (SMC_DIAG_LGRINFO - 1)) + bytes(48)
    for answer in Netlink(NETLINK_SOCK_DIAG).ask(SOCK_DIAG_BY_FAMILY, request, Netlink.DUMP):
        # struct smc_diag_msg
        how, inode = struct.unpack_from('=xxB53xQ', answer)
        if inode == os.fstat(s.fileno()).st_ino:
            return how, attributes(answer[64:])
    sys.exit('smc_diag does not know this socket')


def check_device(s):
    """The socket moves its data by the device."""
    how, found = diagnosis(s)
    # Of this machine's reason, and of the peer's.
    assert how == MODE_SMCR, 'TCP it is, because of %#x, %#x' % struct.unpack('=II', found[SMC_DIAG_FALLBACK])
    # struct smc_diag_linkinfo: a byte, the name, and others.
    name = found[SMC_DIAG_LGRINFO][1:65].rstrip(b'\0').decode()
    assert name == device, f'it uses the device {name}'


def number_in(path):
    with open(path) as f:
        return int(f.read())


def by_tcp():
    """The bytes of all TCP connections of this machine with itself, and whatever else uses lo."""
    return number_in('/sys/class/net/lo/statistics/tx_bytes')


def by_device():
    # The core reads counters anew after ten milliseconds.
    time.sleep(0.1)
    return number_in(f'/sys/class/infiniband/{device}/ports/1/hw_counters/tx_bytes')


def tcp():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def smc():
    # Addresses are of IPv4; Python does not know this address family.
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0,
                         fileno=socket.socket(AF_SMC, socket.SOCK_STREAM).detach())


def listening(kind=smc, buffers=None):
    s = kind()
    if buffers:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffers)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers)
    s.bind((address, 0))
    s.listen(64)
    return s


def connected(listener, buffers=None):
    """Return both ends of a connection whose data go through the device."""
    a = smc()
    if buffers:
        a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffers)
        a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers)
    a.connect(listener.getsockname())
    b, _ = listener.accept()
    check_device(a)
    check_device(b)
    return a, b


def receive(s, n):
    got = bytearray()
    while len(got) < n:
        part = s.recv(min(n - len(got), 1 << 20))
        assert part, f'the connection ends after {len(got)} of {n} bytes'
        got += part
    return bytes(got)


class Thread(threading.Thread):
    """Its failure is the test's."""

    def __init__(self, what, *args):
        super().__init__(daemon=True)
        self.what, self.args, self.failure = what, args, None
        self.start()

    def run(self):
        try:
            self.what(*self.args)
        except BaseException as e:
            self.failure = e

    def end(self):
        self.join()
        if self.failure:
            raise self.failure


def exchange(a, b, n):
    """Send n random bytes each way at a time, and compare them."""
    sent = os.urandom(n), os.urandom(n)
    threads = Thread(a.sendall, sent[0]), Thread(b.sendall, sent[1])
    back = []
    reader = Thread(lambda: back.append(receive(a, n)))
    assert receive(b, n) == sent[0], 'other bytes arrived'
    for t in (*threads, reader):
        t.end()
    assert back[0] == sent[1], 'other bytes came back'


def streams(sizes, buffers=None):
    a, b = connected(listening(buffers=buffers), buffers)
    tcp_bytes, device_bytes = by_tcp(), by_device()
    for n in sizes:
        exchange(a, b, n)
    total = 2 * sum(sizes)
    tcp_bytes, device_bytes = by_tcp() - tcp_bytes, by_device() - device_bytes
    assert device_bytes >= total, f'{device_bytes} of {total} bytes went through the device'
    assert tcp_bytes < total / 20, f'{tcp_bytes} bytes went through lo, of {total}'


def fallback():
    """The other end knows nothing of SMC: TCP moves all bytes, and is seen to."""
    listener = listening(tcp)
    a = smc()
    a.connect(listener.getsockname())
    b, _ = listener.accept()
    assert diagnosis(a)[0] == MODE_TCP
    tcp_bytes, device_bytes = by_tcp(), by_device()
    exchange(a, b, 1 << 20)
    tcp_bytes, device_bytes = by_tcp() - tcp_bytes, by_device() - device_bytes
    assert tcp_bytes >= 2 << 20 and device_bytes == 0, (tcp_bytes, device_bytes)


def small():
    """Many short messages one way, and then questions and answers."""
    a, b = connected(listening())
    sizes = [1 + os.urandom(1)[0] for _ in range(3000)]
    data = [os.urandom(n) for n in sizes]

    def send():
        for d in data:
            a.sendall(d)

    sender = Thread(send)
    assert receive(b, sum(sizes)) == b''.join(data), 'other bytes arrived'
    sender.end()
    for d in data[:500]:
        a.sendall(d)
        got = receive(b, len(d))
        b.sendall(got[::-1])
        assert receive(a, len(d)) == d[::-1], 'another answer'


def many():
    """Connections that share queue pairs, all at a time."""
    listener = listening()
    pairs = [connected(listener) for _ in range(20)]
    for t in [Thread(exchange, a, b, 200000 + i) for i, (a, b) in enumerate(pairs)]:
        t.end()


def again():
    """One connection after another, whose buffers are used again."""
    listener = listening()
    for i in range(50):
        a, b = connected(listener)
        exchange(a, b, 10000 + i)
        a.close()
        assert b.recv(1) == b'', 'something after the end'
        b.close()


def full():
    """Nobody reads: the sender may not send more than the buffers hold, and none of it is lost."""
    a, b = connected(listening())
    a.setblocking(False)
    sent = bytearray()
    while True:
        data = os.urandom(20000)
        try:
            sent += data[:a.send(data)]
        except BlockingIOError:
            # What was sent moves to the other end, and room may come of that.
            if not select.select([], [a], [], 1)[1]:
                break
        assert len(sent) < 64 << 20, 'there is no end of it'
    assert receive(b, len(sent)) == sent, 'other bytes arrived'
    assert select.select([], [a], [], 30)[1], 'there is no room again'
    a.setblocking(True)
    exchange(a, b, 300000)


def shutdown():
    """One end has said all, and still hears."""
    a, b = connected(listening())
    data = os.urandom(100000)
    sender = Thread(lambda: (a.sendall(data), a.shutdown(socket.SHUT_WR)))
    assert receive(b, len(data)) == data and b.recv(1) == b''
    sender.end()
    b.sendall(data[::-1])
    assert receive(a, len(data)) == data[::-1], 'another answer'


def killed():
    """The process at one end dies while it sends: the other end hears of it, and those that it
    has with others go on."""
    listener = listening()
    other = connected(listener)
    for _ in range(5):
        child = os.fork()
        if not child:
            s = smc()
            s.connect(listener.getsockname())
            while True:
                s.sendall(bytes(50000))
        b, _ = listener.accept()
        check_device(b)
        assert not any(receive(b, 200000)), 'not the zeros that were sent'
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            while part := b.recv(1 << 20):
                assert not any(part), 'not the zeros that were sent'
        except OSError as e:
            assert e.errno in (errno.ECONNRESET, errno.ECONNABORTED), e
        b.close()
        exchange(*other, 50000)


tests = {
    'setup': setup,
    'stream': lambda: streams((1, 100, 65535, 65536, 1000003, 4 << 20)),
    'stream-large-buffers': lambda: streams((100, 1000003, 8 << 20), 512 << 10),
    'small': small,
    'many': many,
    'again': again,
    'full': full,
    'shutdown': shutdown,
    'killed': killed,
    'fallback': fallback,
}

if len(sys.argv) != 4 or sys.argv[3] not in tests:
    sys.exit(__doc__ + '\n' + ' '.join(tests))
address, device = sys.argv[1:3]
tests[sys.argv[3]]()
