# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The figures of a run of the bench: parses its output, keeps it as JSON, and computes medians and
spreads. In the JSON, runs[ROW][COLUMN] is a list of single figures, each with the details that
its run printed."""
import collections
import json
import re
import statistics

UNITS = {'bw': 'GB/s', 'lat': 'us', 'rate': 'M/s', 'cpu': 's/GB', 'pollcpu': 's/GB', 'wait': 'us', 'idle': '%',
         'sum': 'M/s', 'packet': 'instructions'}
LESS_IS_BETTER = ('lat', 'cpu', 'pollcpu', 'wait', 'idle', 'packet')
NAMES = {'bw': '', 'lat': ' latency', 'rate': ' in lists of 32', 'cpu': ' CPU time', 'pollcpu': ' CPU time, polling',
         'wait': ', waiting for each', 'idle': ' at rest, of a processor', 'sum': ', all processes together',
         'packet': ' a packet'}
# The columns that each mode compares. Other modes compare their first column with all others.
PAIRS = {'streams': [('on', 'off'), ('busy-on', 'busy-off'), ('on', 'siw0'), ('busy-on', 'busy-siw0')],
         'builds': [('this', 'other')]}


class Wrong(Exception):
    """An error of the user, in one line."""


def read_raw(lines):
    """Parses runs, limits and facts from the output of a bed, and ignores other lines. Limits are measured
    in each round: a figure has the round that it is of."""
    runs, limits, facts = {}, {}, {}
    for line in lines:
        words = line.split()
        try:
            if words[:1] == ['limit'] and len(words) == 3:
                limits.setdefault(words[1], []).append(float(words[2]))
            elif words[:1] == ['fact'] and len(words) > 2:
                facts[words[1]] = ' '.join(words[2:])
            elif words[:1] == ['figure'] and len(words) > 3:
                by = runs.setdefault(words[1], {}).setdefault(words[2], [])
                if words[3] == '-':
                    continue
                figure = {'value': float(words[3]), 'round': max(map(len, limits.values()), default=0)}
                for word in words[4:]:
                    name, value = word.split('=')
                    figure[name] = float(value)
                by.append(figure)
        except ValueError:
            raise Wrong(f'not a line of the bench: {line.strip()}') from None
    return runs, limits, facts


def load(name):
    try:
        with open(name) as f:
            bench = json.load(f)
    except OSError as e:
        raise Wrong(f'{name}: {e.strerror}') from None
    except ValueError:
        raise Wrong(f'{name}: not JSON') from None
    if not isinstance(bench, dict) or bench.get('format') != 1 or 'runs' not in bench:
        raise Wrong(f'{name}: not figures of scripts/bench')
    # Older files have one value of each limit, measured before the first round.
    for name, some in bench['limits'].items():
        if not isinstance(some, list):
            bench['limits'][name] = [some]
    return bench


def values(bench, row, column, name='value'):
    return [f[name] for f in bench['runs'].get(row, {}).get(column, []) if name in f]


def median(bench, row, column, name='value'):
    some = values(bench, row, column, name)
    return statistics.median(some) if some else None


def limit(bench, name):
    """The median of a limit; None if it was not measured."""
    some = bench['limits'].get(name)
    return statistics.median(some) if some else None


def of_limit(bench, row, column, name):
    """The median of the ratios of single figures to the limit measured in the same round, for these may have
    been minutes apart from the next; None if there is none."""
    some = bench['limits'].get(name)
    if not some:
        return None
    ratios = [f['value'] / some[min(f.get('round') or 1, len(some)) - 1]
              for f in bench['runs'].get(row, {}).get(column, [])]
    return statistics.median(ratios) if ratios else None


def spread(bench, row, column):
    """The minimum and the maximum of the single figures."""
    some = values(bench, row, column)
    return (min(some), max(some)) if some else None


def may_be_chance(row, one, other):
    """Whether the difference between two (bench, column) exceeds their spreads. It takes at least three
    runs; counts of instructions have no spread."""
    if one[0]['mode'] == other[0]['mode'] == 'icount':
        return False
    if min(len(values(bench, row, column)) for bench, column in (one, other)) < 3:
        return True
    a, b = (spread(bench, row, column) for bench, column in (one, other))
    return a[0] <= b[1] and b[0] <= a[1]


def pairs(bench):
    """(column, other) of each ratio."""
    columns = bench['columns']
    chosen = PAIRS.get(bench['mode'])
    if chosen is None:
        chosen = [(columns[0], other) for other in columns[1:]]
    return [(a, b) for a, b in chosen if a in columns and b in columns]


# What a network does to packets: the name of a condition ends with the number.
CONDITIONS = {'loss': '{} % lost', 'dup': '{} % twice', 'corrupt': '{} % damaged', 'reorder': '{} % overtake others',
              'delay': '{} ms later', 'rate': '{} Mbit/s'}
# mtu and condition (name and number, as text) are None where the row does not say.
Row = collections.namedtuple('Row', 'mtu condition verb kind size queues')


def condition_of(word):
    """'loss0.1' as ('loss', '0.1'); None if it is no condition."""
    found = re.fullmatch(r'([a-z]+)([0-9.]+)', word)
    return found.groups() if found and found[1] in CONDITIONS else None


def split(row):
    """'9000/loss0.1/write/bw/65536/x10' as a Row."""
    words = row.split('/')
    mtu = int(words.pop(0)) if words[0].isdigit() else None
    condition = condition_of(words[0])
    if condition:
        words.pop(0)
    queues = int(words.pop()[1:]) if words[-1].startswith('x') else 1
    verb, kind, size = words
    return Row(mtu, condition, verb, kind, int(size), queues)


def kind_of(row):
    return split(row).kind


def size_text(n):
    for unit in ('B', 'KiB', 'MiB'):
        if n < 1024 or n % 1024:
            return f'{n} {unit}'
        n //= 1024
    return f'{n} GiB'


def row_text(row):
    at = split(row)
    where = ', '.join(([f'MTU {at.mtu}'] if at.mtu else []) + ([CONDITIONS[at.condition[0]].format(at.condition[1])] if at.condition else []))
    what = f'{at.verb} {size_text(at.size)}' if at.size else at.verb
    return (f'{where}: ' if where else '') + f'{what}{NAMES[at.kind]}' \
        + (f', {at.queues} queue pairs' if at.queues > 1 else '') + f', {UNITS[at.kind]}'


def gain(row, new, old):
    """The ratio, with values above 1 for better, whatever the unit."""
    return old / new if kind_of(row) in LESS_IS_BETTER else new / old


def parts_of_packet(bench, verb, column):
    """(instructions of a packet of any size, of each byte), from the packets of 1 KiB and of 4 KiB; or None."""
    small, large = (median(bench, f'{mtu}/{verb}/packet/65536', column) for mtu in (1500, 9000))
    if not small or not large:
        return None
    byte = (large - small) / (4096 - 1024)
    return small - 1024 * byte, byte


def limit_text(name):
    text, unit = name.rsplit('_', 1)
    return f'{text.replace("_", " ")}, {unit.replace("GBs", "GB/s")}'


def number(value):
    """Three significant digits, without an exponent."""
    if value is None:
        return 'void'
    for most, places in ((0.1, 4), (1, 3), (10, 2), (100, 1)):
        if abs(value) < most:
            return f'{value:.{places}f}'
    return f'{value:.0f}'
