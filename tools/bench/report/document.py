# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Writes the figures of one run into README and Documentation, between two marked lines in each file,
and the pictures beside them. The rest of the files is not changed."""
import os

import figures as of
import page
import plot
import table

README = ('<!-- figures: scripts/bench --document -->', '<!-- figures end -->')
PAGE = ('.. figures {}: scripts/bench --document', '.. figures {} end')
# The rows that README shows if the run has them, and the limit printed beside each.
SHOWN = (('write/bw/65536', None), ('write/bw/1048576', 'memcpy_kernel_GBs'), ('read/bw/65536', None),
         ('read/bw/1048576', None), ('write/lat/8', 'ioctl_us'), ('write/rate/8', None),
         ('send/bw/65536', None), ('send/bw/1048576', None))
LIMITS = {'memcpy_kernel_GBs': 'kernel memcpy', 'ioctl_us': 'empty ioctl'}


def readme_lines(bench):
    columns = bench['columns']
    others = ' and '.join(f"{c.rstrip('0')}'s" for c in columns[1:])
    repeats = bench['repeats']
    lines = ['', f'What the bench printed in a box of {bench["facts"].get("processors", "?")} virtual processors, the '
             f'median of {repeats}, with {others}', 'figures of the same boot in brackets:', '']
    for row, limit in SHOWN:
        middles = [of.median(bench, row, c) for c in columns]
        if not middles[0]:
            continue
        at = of.split(row)
        what = f'{at.verb} of {of.size_text(at.size)}{" in lists of 32" if at.kind == "rate" else ""}'
        beside = ', '.join(of.number(m) for m in middles[1:])
        line = f'    {what:28}{of.number(middles[0]):>7} {of.UNITS[at.kind]:5}  ({beside})'
        if limit in bench['limits']:
            line = f'{line:62}  {LIMITS[limit]}: {of.number(of.limit(bench, limit))}'
        lines.append(line.rstrip())
    return lines + ['']


def page_lines(bench, pictures):
    lines = [''] + [f'| {line}' for line in table.facts(bench)]
    lines += ['', 'Median (least..most); a ratio above 1 is better, ~ where it may be chance.', '']
    lines += page.rst_table(table.main_table(bench)) + ['']
    percentiles = table.percentile_table(bench)
    if percentiles:
        lines += page.rst_table(percentiles) + ['']
    lines += [f'| {line}' for line in table.limit_lines(bench)] + ([''] if bench['limits'] else [])
    packets = table.packet_lines(bench)
    lines += [f'| {line}' for line in packets] + ([''] if packets else [])
    for file in pictures:
        lines += [f'.. image:: bench/{file}', f'   :alt: {file[:-4]}', '']
    return lines


def write(bench, top, force):
    """The names of the files that were written. Nobody can measure the figures of a tree with changes
    again, so they are refused without @force."""
    mode = bench['mode']
    if bench['commit']['changed'] and not force:
        raise of.Wrong('the tree had changes when this was measured (see --force)')
    if not bench['runs']:
        raise of.Wrong('there are no figures')
    bench_page = os.path.join(top, 'Documentation/bench.rst')
    jobs = [(bench_page, tuple(mark.format(mode) for mark in PAGE))]
    if mode == 'devices':
        jobs.append((os.path.join(top, 'README.md'), README))
    for name, marks in jobs:  # before anything is written
        with open(name) as f:
            page.replace(f.read(), marks, [], name)
    folder = os.path.join(top, 'Documentation/bench')
    # Each mode has a folder of its own, as the names of its pictures may be the same.
    pictures = plot.draw(bench, os.path.join(folder, mode))
    for name, marks in jobs:
        with open(name) as f:
            text = f.read()
        lines = page_lines(bench, [f'{mode}/{p}' for p in pictures]) if name == bench_page else readme_lines(bench)
        with open(name, 'w') as f:
            f.write(page.replace(text, marks, lines, name))
    return [name for name, _ in jobs] + [os.path.join(folder, mode, p) for p in pictures]
