#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Messages of UCX between two processes, with random bytes that are all compared: ucx_perftest
measures, and does not look at what arrives. It calls libucp directly; the environment says on what
device and by which transports (UCX_NET_DEVICES, UCX_TLS).

Usage: ucx_data.py tag|am|put|get|atomic ROUNDS [SEED]
Exit status: 0 if all bytes were right, else 1; 2 for wrong arguments.
"""
import ctypes as c
import json
import os
import random
import select
import socket
import struct
import sys

# Of the ABI of libucp.so.0: masks, opcodes, and structures up to the last field that is used.
FEATURES, FEATURE_ALL = 1, 1 | 2 | 8 | 64        # tag, RMA, 64-bit atomics, active messages
ADDRESS, LENGTH = 1, 2
HANDLER_ID, HANDLER_CB = 1, 4
OP_DATATYPE, OP_REPLY = 8, 32
OK, IN_PROGRESS = 0, 1
WORDS = 8 << 3                                   # a datatype: contiguous, of 8 bytes
ADD, SWAP, CSWAP = 0, 1, 2
AM_RNDV = 1 << 17
AM_ID = 7
ROOM = 1 << 20
GUARD = 64

P = c.c_void_p
AM_CALLBACK = c.CFUNCTYPE(c.c_byte, P, P, c.c_size_t, P, c.c_size_t, P)


class Params(c.Structure):
    """Of ucp_init(), and longer than what others have that only begin with a mask."""
    _fields_ = [('mask', c.c_uint64), ('features', c.c_uint64), ('rest', c.c_uint64 * 64)]


class EpParams(c.Structure):
    _fields_ = [('mask', c.c_uint64), ('address', P), ('rest', c.c_uint64 * 32)]


class MapParams(c.Structure):
    _fields_ = [('mask', c.c_uint64), ('address', P), ('length', c.c_size_t),
                ('rest', c.c_uint64 * 16)]


class HandlerParams(c.Structure):
    _fields_ = [('mask', c.c_uint64), ('id', c.c_uint), ('flags', c.c_uint32),
                ('callback', AM_CALLBACK), ('argument', P)]


class OpParams(c.Structure):
    _fields_ = [('mask', c.c_uint32), ('flags', c.c_uint32), ('request', P), ('callback', P),
                ('datatype', c.c_uint64), ('user_data', P), ('reply', P),
                ('rest', c.c_uint64 * 16)]


ucp = None


def load():
    """In each process by itself: the library has threads, which do not survive a fork."""
    global ucp
    ucp = c.CDLL('libucp.so.0')
    for name in ('tag_send', 'tag_recv', 'am_send', 'am_recv_data', 'put', 'get', 'atomic_op',
                 'ep_flush', 'ep_close'):
        getattr(ucp, f'ucp_{name}_nbx').restype = P


def must(status, what):
    """Statuses of UCX are of a signed byte."""
    if c.c_byte(status & 0xff).value != OK:
        raise SystemExit(f'{what}: status {c.c_byte(status & 0xff).value}')


class Side:
    """One of the two processes: a worker, an endpoint to the other, and memory."""

    def __init__(self, wire, seed):
        self.wire = wire
        self.random = random.Random(seed)
        major, minor, release = c.c_uint(), c.c_uint(), c.c_uint()
        ucp.ucp_get_version(c.byref(major), c.byref(minor), c.byref(release))
        self.context, self.worker, self.ep = P(), P(), P()
        params = Params(mask=FEATURES, features=FEATURE_ALL)
        must(ucp.ucp_init_version(major, minor, c.byref(params), None, c.byref(self.context)),
             'ucp_init')
        must(ucp.ucp_worker_create(self.context, c.byref(Params()), c.byref(self.worker)),
             'ucp_worker_create')
        self.memory = c.create_string_buffer(ROOM)
        self.memory_at = c.addressof(self.memory)
        self.mapping = P()
        must(ucp.ucp_mem_map(self.context, c.byref(MapParams(mask=ADDRESS | LENGTH,
                                                             address=self.memory_at,
                                                             length=ROOM)),
                             c.byref(self.mapping)), 'ucp_mem_map')
        self.messages = []
        self.late = []
        self.callback = AM_CALLBACK(self.arrived)
        handler = HandlerParams(mask=HANDLER_ID | HANDLER_CB, id=AM_ID, callback=self.callback)
        must(ucp.ucp_worker_set_am_recv_handler(self.worker, c.byref(handler)), 'am handler')

    def connect(self):
        address, length = P(), c.c_size_t()
        must(ucp.ucp_worker_get_address(self.worker, c.byref(address), c.byref(length)),
             'ucp_worker_get_address')
        key, key_length = P(), c.c_size_t()
        must(ucp.ucp_rkey_pack(self.context, self.mapping, c.byref(key), c.byref(key_length)),
             'ucp_rkey_pack')
        self.tell(address=c.string_at(address, length.value).hex(),
                  key=c.string_at(key, key_length.value).hex(), at=self.memory_at)
        other = self.hear()
        self.other_address = c.create_string_buffer(bytes.fromhex(other['address']))
        params = EpParams(mask=1, address=c.addressof(self.other_address))
        must(ucp.ucp_ep_create(self.worker, c.byref(params), c.byref(self.ep)), 'ucp_ep_create')
        self.other_at, self.key = other['at'], P()
        must(ucp.ucp_ep_rkey_unpack(self.ep, c.create_string_buffer(bytes.fromhex(other['key'])),
                                    c.byref(self.key)), 'ucp_ep_rkey_unpack')

    # Between the processes: lines of JSON, by a socket.
    def tell(self, **what):
        data = json.dumps(what).encode()
        data = struct.pack('I', len(data)) + data
        while data:
            data = data[self.wire.send(data):]

    def take(self, count):
        got = b''
        while len(got) < count:
            self.progress()
            if select.select([self.wire], [], [], 0)[0]:
                part = self.wire.recv(count - len(got))
                if not part:
                    raise SystemExit('the other process has ended')
                got += part
        return got

    def hear(self):
        return json.loads(self.take(struct.unpack('I', self.take(4))[0]))

    def progress(self):
        ucp.ucp_worker_progress(self.worker)

    def finish(self, request, what):
        """Waits until @request, as ucp_*_nbx() returned it, is done."""
        # NULL, which ctypes turns into None: it was done at once.
        if request is None:
            return
        if request >= (1 << 64) - 128:
            raise SystemExit(f'{what}: status {request - (1 << 64)}')
        while (status := ucp.ucp_request_check_status(P(request)) & 0xff) == IN_PROGRESS:
            self.progress()
        must(status, what)
        ucp.ucp_request_free(P(request))

    def flush(self):
        self.finish(ucp.ucp_ep_flush_nbx(self.ep, c.byref(OpParams())), 'flush')

    def arrived(self, _argument, header, header_length, data, length, param):
        """An active message: its bytes, or (a long one) what they can be fetched by."""
        head = c.string_at(header, header_length) if header_length else b''
        if c.cast(param, c.POINTER(c.c_uint64))[0] & AM_RNDV:
            self.late.append((head, data, length))
            return IN_PROGRESS
        self.messages.append((head, c.string_at(data, length) if length else b''))
        return OK

    def message(self):
        while not self.messages:
            self.progress()
            if self.late:
                head, data, length = self.late.pop()
                buffer = c.create_string_buffer(length + GUARD)
                self.finish(ucp.ucp_am_recv_data_nbx(self.worker, P(data), buffer,
                                                     c.c_size_t(length), c.byref(OpParams())),
                            'am_recv_data')
                if buffer.raw[length:] != bytes(GUARD):
                    raise SystemExit('bytes behind the message have changed')
                self.messages.append((head, buffer.raw[:length]))
        return self.messages.pop()

    def size(self, most=ROOM // 2):
        """Of all magnitudes, as each has a protocol of its own."""
        return min(most, self.random.randint(1, 1 << self.random.randint(1, 20)))

    def bytes(self, length):
        return self.random.randbytes(length)


def check(got, expected, what):
    if got == expected:
        return
    at = next((i for i, (x, y) in enumerate(zip(got, expected)) if x != y), -1)
    raise SystemExit(f'{what}: {len(got)} bytes of {len(expected)}, other from byte {at} on')


# Each kind: what the first process does in a round, and what the second does. Both have the same
# random numbers, so the second knows what must come. The first waits until the second has looked.
def tag_first(side, tag):
    data = side.bytes(side.size())
    side.finish(ucp.ucp_tag_send_nbx(side.ep, data, c.c_size_t(len(data)), c.c_uint64(tag),
                                     c.byref(OpParams())), 'tag_send')


def tag_second(side, tag):
    data = side.bytes(side.size())
    buffer = c.create_string_buffer(len(data) + GUARD)
    side.finish(ucp.ucp_tag_recv_nbx(side.worker, buffer, c.c_size_t(len(data)),
                                     c.c_uint64(tag), c.c_uint64((1 << 64) - 1),
                                     c.byref(OpParams())), 'tag_recv')
    check(buffer.raw, data + bytes(GUARD), f'message {tag}')


def am_first(side, _round):
    head, data = side.bytes(side.random.randint(0, 100)), side.bytes(side.size())
    side.finish(ucp.ucp_am_send_nbx(side.ep, c.c_uint(AM_ID), head, c.c_size_t(len(head)), data,
                                    c.c_size_t(len(data)), c.byref(OpParams())), 'am_send')
    side.hear()


def am_second(side, number):
    head, data = side.bytes(side.random.randint(0, 100)), side.bytes(side.size())
    got_head, got = side.message()
    check(got_head, head, f'header of message {number}')
    check(got, data, f'message {number}')
    side.tell(seen=True)


def put_first(side, _round):
    at, data = side.random.randint(0, ROOM // 2 - 1), side.bytes(side.size())
    side.finish(ucp.ucp_put_nbx(side.ep, data, c.c_size_t(len(data)),
                                c.c_uint64(side.other_at + at), side.key, c.byref(OpParams())),
                'put')
    side.flush()
    side.tell(done=True)
    side.hear()


def put_second(side, number):
    at, data = side.random.randint(0, ROOM // 2 - 1), side.bytes(side.size())
    if not number:
        side.model = bytearray(side.memory.raw)
    side.model[at:at + len(data)] = data
    side.hear()
    check(side.memory.raw, bytes(side.model), f'memory after {number}')
    side.tell(seen=True)


def get_first(side, number):
    all_of_it = side.bytes(ROOM)
    at, length = side.random.randint(0, ROOM // 2 - 1), side.size()
    side.hear()
    buffer = c.create_string_buffer(length + GUARD)
    side.finish(ucp.ucp_get_nbx(side.ep, buffer, c.c_size_t(length),
                                c.c_uint64(side.other_at + at), side.key, c.byref(OpParams())),
                'get')
    check(buffer.raw, all_of_it[at:at + length] + bytes(GUARD), f'get {number}')
    side.tell(done=True)


def get_second(side, _round):
    side.memory.raw = side.bytes(ROOM)
    side.random.randint(0, ROOM // 2 - 1), side.size()
    side.tell(ready=True)
    side.hear()


def operate(before, operation, operand, swap):
    if operation == ADD:
        return (before + operand) % (1 << 64)
    if operation == SWAP:
        return operand
    return swap if before == operand else before


def atomic_first(side, number):
    at = 8 * side.random.randrange(4)
    operation = side.random.choice((ADD, SWAP, CSWAP))
    operand, swap = side.random.getrandbits(64), side.random.getrandbits(64)
    if not number:
        side.model = {}
    before = side.model.get(at, 0)
    if operation == CSWAP and side.random.random() < 0.5:
        operand = before
    value, reply = c.c_uint64(operand), c.c_uint64(swap)
    side.finish(ucp.ucp_atomic_op_nbx(side.ep, c.c_int(operation), c.byref(value),
                                      c.c_size_t(1), c.c_uint64(side.other_at + at), side.key,
                                      c.byref(OpParams(mask=OP_DATATYPE | OP_REPLY,
                                                       datatype=WORDS,
                                                       reply=c.addressof(reply)))), 'atomic')
    check(struct.pack('Q', reply.value), struct.pack('Q', before), f'old value {number}')
    side.model[at] = operate(before, operation, operand, swap)
    side.flush()
    side.tell(at=at, value=side.model[at])
    side.hear()


def atomic_second(side, number):
    told = side.hear()
    check(side.memory.raw[told['at']:told['at'] + 8], struct.pack('Q', told['value']),
          f'word after {number}')
    side.tell(seen=True)


KINDS = {'tag': (tag_first, tag_second), 'am': (am_first, am_second),
         'put': (put_first, put_second), 'get': (get_first, get_second),
         'atomic': (atomic_first, atomic_second)}


def play(kind, which, rounds, seed, wire):
    load()
    side = Side(wire, seed)
    side.connect()
    for number in range(rounds):
        KINDS[kind][which](side, number)
    side.flush()
    # Nobody ends while the other may need him to make progress.
    side.tell(over=True)
    side.hear()
    side.finish(ucp.ucp_ep_close_nbx(side.ep, c.byref(OpParams())), 'close')


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in KINDS or not sys.argv[2].isdigit():
        print(__doc__.strip(), file=sys.stderr)
        return 2
    kind, rounds = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.getrandbits(32)
    print(f'# seed {seed}', flush=True)
    first, second = socket.socketpair()
    child = os.fork()
    if not child:
        first.close()
        play(kind, 1, rounds, seed, second)
        return 0
    second.close()
    play(kind, 0, rounds, seed, first)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f'# {rounds} of {kind}', flush=True)
    return 1 if status else 0


if __name__ == '__main__':
    sys.exit(main())
