#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: collect.py OUT.json DIR PART...

Puts what mrbench --json wrote for each PART, DIR/PART*.json, into one file, beside what
is there of other parts. Exit status: 0, or 1 for a wrong call."""
import glob
import json
import os
import sys


def rows(name):
    with open(name) as f:
        return [json.loads(line) for line in f]


def main(out, folder, *parts):
    everything = {}
    if os.path.exists(out):
        with open(out) as f:
            everything = json.load(f)
    for part in parts:
        everything[part] = {os.path.basename(name)[:-5]: rows(name)
                            for name in sorted(glob.glob(f'{folder}/{part}*.json'))}
    with open(out + '.new', 'w') as f:
        json.dump(everything, f, indent=1)
    os.rename(out + '.new', out)


if len(sys.argv) < 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
