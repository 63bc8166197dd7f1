#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: compare.py WHAT FILE MODEL

Compares the ranges of one kind (WHAT: there, kept, lost) of the file `flushed' with the folder
that stores.c has left. Prints their number and the bytes; exit status 1 if a byte is wrong."""
import sys

what, name, model = sys.argv[1:]
with open(name, 'rb') as f:
    found = f.read()
with open(model + '/model.bin', 'rb') as f:
    wanted = f.read()
with open(model + '/ranges.txt') as f:
    ranges = [(int(at), int(length)) for kind, at, length in map(str.split, f) if kind == what]

if len(found) != len(wanted):
    sys.exit(f'{name} has {len(found)} bytes, not {len(wanted)}')
wrong = 0
for at, length in ranges:
    want = wanted[at:at + length] if what != 'lost' else bytes(length)
    differ = sum(a != b for a, b in zip(found[at:at + length], want))
    if differ:
        print(f'{differ} of {length} bytes at {at} are not as they have to be')
        wrong += 1
print(f'{what}: {len(ranges)} ranges, {sum(length for _, length in ranges)} bytes, {wrong} ranges wrong')
sys.exit(wrong > 0 or len(ranges) < 20)
