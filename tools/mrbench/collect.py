#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: collect.py OUT.json DIR FACT=VALUE... PART...

Collects the output of mrbench --json for each PART, DIR/PART*.json, in one file, and the facts of
this run for each PART; other parts in that file are kept. Exit status: 0, or 1 for wrong arguments."""
import glob
import json
import os
import sys


def rows(name):
    with open(name) as f:
        return [json.loads(line) for line in f]


def main(out, folder, *words):
    everything = {}
    facts = dict(word.split('=', 1) for word in words if '=' in word)
    parts = [word for word in words if '=' not in word]
    if os.path.exists(out):
        with open(out) as f:
            everything = json.load(f)
    for part in parts:
        everything[part] = {os.path.basename(name)[:-5]: rows(name)
                            for name in sorted(glob.glob(f'{folder}/{part}*.json'))}
        everything.setdefault('facts', {})[part] = facts
    with open(out + '.new', 'w') as f:
        json.dump(everything, f, indent=1)
    os.rename(out + '.new', out)


if len(sys.argv) < 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
