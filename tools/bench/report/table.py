# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Prints the figures of one run on a terminal: medians with their spreads, ratios, percentiles."""
import figures as of


def cell(bench, row, column):
    middle = of.median(bench, row, column)
    if middle is None:
        return 'void' if column in bench['runs'][row] else ''
    least, most = of.spread(bench, row, column)
    return f'{of.number(middle)} ({of.number(least)}..{of.number(most)})'


def ratio(bench, row, column, other):
    """The ratio to the other column; with ~ if it is within the spread."""
    a, b = (of.median(bench, row, c) for c in (column, other))
    if not a or not b:
        return ''
    chance = of.may_be_chance(row, (bench, column), (bench, other))
    return f'{"~" if chance else ""}{of.gain(row, a, b):.2f}'


def main_table(bench):
    """The lines as lists of cells; the first is the head."""
    columns = [c for c in bench['columns'] if any(c in by for by in bench['runs'].values())]
    pairs = [(a, b) for a, b in of.pairs(bench) if a in columns and b in columns]
    lines = [[''] + columns + [f'{a} / {b}' for a, b in pairs]]
    for row in bench['runs']:
        lines.append([of.row_text(row)] + [cell(bench, row, c) for c in columns]
                     + [ratio(bench, row, a, b) for a, b in pairs])
    return lines


def percentile_table(bench):
    rows = [r for r in bench['runs'] if of.kind_of(r) == 'lat']
    columns = [c for c in bench['columns'] if any(of.values(bench, r, c, 'p99') for r in rows)]
    if not columns:
        return []
    lines = [[''] + [f'{c} p50, p99, p99.9, max' for c in columns]]
    for row in rows:
        line = [of.row_text(row)]
        for c in columns:
            some = [of.median(bench, row, c, p) for p in ('p50', 'p99', 'p999')]
            worst = of.values(bench, row, c, 'max')
            line.append('  '.join(of.number(v) for v in some + [max(worst)]) if worst else '')
        lines.append(line)
    return lines


def limit_lines(bench):
    limits = bench['limits']
    lines = [f'limit: {of.limit_text(name)}: {of.number(of.limit(bench, name))}' for name in limits]
    first = bench['columns'][0]
    for row, limit, text in (
            ('write/bw/1048576', 'memcpy_kernel_GBs', "write 1 MiB is {:.2f} of the kernel's memcpy"),
            ('write/bw/1048576', 'memcpy_kernel_paged_GBs', "write 1 MiB is {:.2f} of the kernel's memcpy by pages"),
            ('write/bw/16777216', 'memcpy_kernel_paged_16_MiB_GBs', "write 16 MiB is {:.2f} of the kernel's memcpy by pages"),
            ('write/bw/65536', 'memcpy_kernel_paged_64_KiB_GBs', "write 64 KiB is {:.2f} of the kernel's memcpy by pages"),
            ('write/lat/8', 'ioctl_us', 'write 8 B latency is {:.2f} of an empty ioctl'),
            ('1500/write/lat/8', 'ioctl_us', 'MTU 1500: write 8 B latency is {:.2f} of an empty ioctl'),
            ('9000/write/lat/8', 'ioctl_us', 'MTU 9000: write 8 B latency is {:.2f} of an empty ioctl')):
        ratio = of.of_limit(bench, row, first, limit)
        if ratio:
            lines.append(text.format(ratio))
    return lines


def packet_lines(bench):
    lines = []
    for column in bench['columns']:
        parts = of.parts_of_packet(bench, 'read', column)
        if parts:
            lines.append(f'{column}: {of.number(parts[0])} instructions a packet and {of.number(parts[1])} a byte')
    return lines


def widths(lines):
    return [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]


def text(lines):
    wide = widths(lines)
    return [(f'{line[0]:{wide[0]}}' + ''.join(f'  {c:>{w}}' for c, w in zip(line[1:], wide[1:]))).rstrip()
            for line in lines]


def facts(bench):
    commit = bench['commit']
    machine = bench['machine']
    lines = [f'{bench["date"]}, commit {commit["id"]}{" and changes" if commit["changed"] else ""}, {bench["what"]}']
    lines += [f'{name}: {value}' for name, value in machine.items()]
    lines += [f'in the bed: {name}: {value}' for name, value in bench['facts'].items()]
    return lines


def print_all(bench):
    print('\n'.join(facts(bench)))
    print()
    if not bench['runs']:
        raise of.Wrong('there are no figures')
    print('\n'.join(text(main_table(bench))))
    print('median (least..most); a ratio above 1 is better, ~ where it may be chance')
    percentiles = percentile_table(bench)
    if percentiles:
        print('\n' + '\n'.join(text(percentiles)))
    for more in (limit_lines(bench), packet_lines(bench)):
        if more:
            print('\n' + '\n'.join(more))
