#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: table.py FILE.json...

Prints tables of the output of mrbench --json: devices side by side, with ratios.
Exit status: 0, or 1 for wrong arguments."""
import json
import os
import sys


def size(n):
    for unit in ('', 'K', 'M', 'G', 'T'):
        if n % 1024 or n < 1024:
            return f'{n}{unit}'
        n //= 1024
    return str(n)


def time(ns):
    for unit, factor in (('s', 1e9), ('ms', 1e6), ('us', 1e3)):
        if ns >= factor:
            return f'{ns / factor:.3g} {unit}' if ns < 1000 * factor else f'{ns / factor:.0f} {unit}'
    return f'{ns:.0f} ns'


def print_table(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        print('  '.join(c.rjust(w) for c, w in zip(r, widths)))


def pivot(rows, by):
    """Return {label: {target: row}}, and the targets in their order."""
    table, targets = {}, []
    for r in rows:
        table.setdefault(r[by], {})[r['target']] = r
        if r['target'] not in targets:
            targets.append(r['target'])
    return table, targets


def cell(row, key, form=time):
    if row is None:
        return ''
    if 'error' in row:
        return row['error'][:24]
    return form(row[key]) if key in row else '-'


def ratio(a, b, key):
    good = a and b and a.get(key) and b.get(key)
    return f'{a[key] / b[key]:.3f}' if good else ''


def sizes(rows):
    table, targets = pivot(rows, 'bytes')
    devices = [t for t in targets if t not in ('raw', 'raw-call', 'memory')]
    first = devices[0] if devices else None
    head = ['bytes'] + [t for t in targets] + [f'{first} ns/page']
    raw = 'raw' in targets
    head += [f'{d}/raw' for d in devices if raw] + [f'{first}/raw least', f'{first}/call'] * raw
    head += [f'{first}/{d}' for d in devices[1:]]
    kernel = any('kernel_of_raw' in r for r in rows)
    head += [f'{first} in kernel', 'in kernel/raw'] * kernel
    rereg = any('rereg_mem_ns' in r for r in rows)
    head += ['rereg memory', 'rereg access'] * rereg
    out = [head]
    for label, row in table.items():
        me = row.get(first)
        line = [size(label)] + [cell(row.get(t), 'both_ns') for t in targets]
        line += [cell(me, 'ns_per_page', '{:.1f}'.format)]
        if raw:
            line += [cell(row.get(d), 'of_raw', '{:.3f}'.format) for d in devices]
            line += [cell(me, key, '{:.3f}'.format) for key in ('of_raw_min', 'of_call')]
        for d in devices[1:]:
            good = all(row.get(x) and 'both_ns' in row[x] for x in (first, d))
            line += [f"{row[first]['both_ns'] / row[d]['both_ns']:.3f}" if good else '']
        if kernel:
            line += [cell(me, 'kernel_ns'), cell(me, 'kernel_of_raw', '{:.3f}'.format)]
        line += [cell(me, 'rereg_mem_ns'), cell(me, 'rereg_acc_ns')] * rereg
        out.append(line)
    print('registration + deregistration, median:')
    print_table(out)


def others(what, rows):
    by = next(k for k in ('bytes', 'regions', 'threads') if k in rows[0])
    table, targets = pivot(rows, by)
    keys = [k for k in dict.fromkeys(k for r in rows for k in r) if k not in ('what', 'target', by, 'error')]
    first, *rest = targets
    times = [k for k in keys if 'ns' in k.split('_')] if what.startswith('on demand') else []
    out = [[by] + [f'{t} {k}' for t in targets for k in keys]
           + [f'{first}/{t} {k}' for t in rest for k in times]]
    for label, row in table.items():
        line = [size(label) if by == 'bytes' else str(label)]
        for t in targets:
            line += [cell(row.get(t), k, '{:g}'.format) for k in keys]
        for t in rest:
            line += [ratio(row.get(first), row.get(t), k) for k in times]
        out.append(line)
    print(f'{what}:')
    print_table(out)


def lookup(rows):
    """Print the cost of the key lookup of one scatter entry: the difference to inline data, which
    has no key and is copied as often."""
    ns = {(r['what'], r['target']): r['min_ns'] for r in rows if r['bytes'] == 64 and 'min_ns' in r}
    for (what, target), cost in ns.items():
        inline = ns.get(('inline write', target))
        if what == 'write' and inline:
            print(f'{target}: one 64-byte key lookup (write less inline write): {cost - inline:.0f}')


def main(files):
    if not files or files[0] in ('-h', '--help'):
        sys.exit(__doc__)
    for name in files:
        with open(name) as f:
            rows = [json.loads(line) for line in f]
        print(f'\n=== {os.path.basename(name)[:-5]}')
        for what in dict.fromkeys(r['what'] for r in rows):
            some = [r for r in rows if r['what'] == what]
            if what == 'size':
                sizes(some)
            else:
                others(what, some)
        if any(r['what'] == 'inline write' for r in rows):
            lookup(rows)


main(sys.argv[1:])
