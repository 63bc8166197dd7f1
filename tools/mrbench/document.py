#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: document.py [--force] FILE.json PAGE

Writes tables of the parts live, odp, touch and icount of scripts/bench-mr into PAGE, between lines that are
marked for it. The rest of the page is not changed. Nobody can measure the figures of a tree with
changes again, so they are refused without --force. Exit status: 0, or 1 and a reason."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../bench/report'))
import figures
import page

MARKS = ('.. figures mr-{}: scripts/bench-mr --document', '.. figures mr-{} end')

CHANGES = ' and changes'  # as scripts/bench-mr writes behind the commit


def rows_of(part, what):
    return [r for rows in part.values() for r in rows if r['what'] == what]


def cell(row, key, least=None):
    if row is None or key not in row:
        return ''
    text = f'{row[key] / 1000:.2f}'
    return f'{text} ({row[least] / 1000:.2f})' if least else text


def as_number(spec):
    return lambda row, key: format(row[key], spec) if row and key in row else ''


def pivot(rows, by, columns):
    """A table: a line for each value of BY, and all COLUMNS for each device."""
    devices = list(dict.fromkeys(r['target'] for r in rows))
    at = {(r[by], r['target']): r for r in rows}
    used = [(d, c) for d in devices for c in columns
            if any(c[1] in r for r in rows if r['target'] == d)]
    table = [[by] + [f'{d}: {c[0]}' for d, c in used]]
    for label in dict.fromkeys(r[by] for r in rows):
        table.append([f'{label:,}'] + [c[2](at.get((label, d)), *c[1:2], *c[3:]) for d, c in used])
    return table


def live(part):
    columns = (('register', 'reg_ns', cell, 'reg_min_ns'), ('deregister', 'dereg_ns', cell, 'dereg_min_ns'),
               ('write', 'write_ns', cell, 'write_min_ns'))
    return (['us of one call while so many regions exist: the median, and in brackets the least, of 501.',
             'A write of 8 bytes goes to one of the regions, chosen at random.'],
            pivot(rows_of(part, 'live'), 'regions', columns))


def odp(part):
    of_pinned = as_number('.2f')
    pages = rows_of(part, 'on demand, a page')
    writes = rows_of(part, 'on demand, write')
    kinds = (('fault, the process has the page', 'fault_ns'), ('fault, nobody has it', 'fault_new_ns'),
             ('prefetch, each page of many', 'prefetch_ns'), ('invalidation, each page of many', 'invalidate_ns'))
    at = {r['target']: r for r in pages}
    table = [['us of a page'] + list(at)]
    table += [[name] + [cell(row, key) for row in at.values()] for name, key in kinds]
    of = {(r['bytes'], r['target']): r for r in writes}
    table += [[f'write of {size:,} bytes, of pinned'] + [of_pinned(of.get((size, t)), 'of_pinned') for t in at]
              for size in dict.fromkeys(r['bytes'] for r in writes)]
    return (['us of a page of 4 KiB: a write that lacks it, beyond one that finds it; a prefetch, and a',
             'madvise() beyond one without a region, each of many pages at once. Then writes to pages that are',
             'there, compared with a pinned region of the same memory: below 1 they are slower.'],
            table if pages else [])


def touch(part):
    rows = rows_of(part, 'on demand, first touch')
    one = {r['target']: r['per_second'] for r in rows if r['threads'] == 1 and 'per_second' in r}
    rate = as_number(',.0f')

    def ratio(row, key):
        return f'{row[key] / one[row["target"]]:.2f}' if row and key in row and row['target'] in one else ''

    return (['First accesses to spans of 2 MiB of one on-demand region, each thread to its own: the median',
             'of one access in us, accesses per second of all threads, and that compared with one thread.'],
            pivot(rows, 'threads', (('access', 'touch_ns', cell), ('per second', 'per_second', rate),
                                    ('of one', 'per_second', ratio))))


def icount(part):
    count = as_number(',')
    plain, inline = (rows_of(part, what) for what in ('write', 'inline write'))
    by_place = {(r['bytes'], r['target']): r['median_ns'] for r in inline}
    for row in plain:
        if (row['bytes'], row['target']) in by_place:
            row['inline_ns'] = by_place[row['bytes'], row['target']]
    return (['Instructions from posting a write to its completion: the median.'],
            pivot(plain, 'bytes', (('write', 'median_ns', count), ('inline', 'inline_ns', count))))


def main(name, path, force):
    with open(name) as f:
        everything = json.load(f)
    with open(path) as f:
        text = f.read()
    for part, make in (('live', live), ('odp', odp), ('touch', touch), ('icount', icount)):
        if part not in everything:
            continue
        about, table = make(everything[part])
        if len(table) < 2:
            sys.exit(f'{name} has no figures of the part {part}')
        facts = everything.get('facts', {}).get(part, {})
        if facts.get('commit', '').endswith(CHANGES) and not force:
            sys.exit(f'{name}: the tree had changes when the part {part} was measured (see --force)')
        lines = [''] + [f'| {k}: {v}' for k, v in facts.items()] + [''] + about + [''] + page.rst_table(table) + ['']
        text = page.replace(text, [mark.format(part) for mark in MARKS], lines, path)
    with open(path, 'w') as f:
        f.write(text)


words = [word for word in sys.argv[1:] if word != '--force']
if len(words) != 2 or words[0] in ('-h', '--help'):
    sys.exit(__doc__)
try:
    main(*words, force='--force' in sys.argv)
except figures.Wrong as e:
    sys.exit(str(e))
