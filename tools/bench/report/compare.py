# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Compares two runs: which figures are better or worse, and which differences may be noise."""
import figures as of
import table


def rows(old, new):
    """(row, column, old median, new median, gain, within the spread) for figures in both runs."""
    for row in new['runs']:
        for column in new['columns']:
            a, b = of.median(old, row, column), of.median(new, row, column)
            if a and b:
                within = of.may_be_chance(row, (old, column), (new, column))
                yield row, column, a, b, of.gain(row, b, a), within


def verdict(gain, within):
    if within:
        return 'within the spread'
    return 'better' if gain > 1 else 'worse'


def differences(old, new):
    """Differences in machine or options that make the two runs hard to compare."""
    lines = []
    for what in ('mode', 'what'):
        if old[what] != new[what]:
            lines.append(f'not the same {what}: {old[what]}, then {new[what]}')
    for where in ('machine', 'facts'):
        for name in ('processor', 'processors', 'kernel', 'memory', 'governor', 'quota', 'perftest', 'run_ms'):
            a, b = old[where].get(name), new[where].get(name)
            if a != b:
                lines.append(f'not the same {name}: {a}, then {b}')
    for name in old['limits']:
        a, b = of.limit(old, name), of.limit(new, name)
        if a and b and not 0.9 < b / a < 1.1:
            lines.append(f'the machine itself: {of.limit_text(name)}: {of.number(a)}, then {of.number(b)}')
    return lines


def print_all(old, new):
    print(f'{old["date"]} ({old["commit"]["id"]}), then {new["date"]} ({new["commit"]["id"]})')
    for line in differences(old, new):
        print(line)
    lines = [['', 'column', 'then', 'now', 'gain', '']]
    for row, column, a, b, gain, within in rows(old, new):
        lines.append([of.row_text(row), column, of.number(a), of.number(b), f'{gain:.2f}', verdict(gain, within)])
    if len(lines) == 1:
        raise of.Wrong('they have no row in common')
    print('\n'.join(table.text(lines)))
    print('a gain above 1 is better, whatever the unit')


def worse(old, new, percent):
    """Rows of the first column that are worse by more than the limit and the spread."""
    return [row for row, column, _, _, gain, within in rows(old, new)
            if column == new['columns'][0] and not within and gain < 1 - percent / 100]
