#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: report.py collect RAW OUT.json --mode MODE --repeats N --what TEXT --load N --stolen TEXT
           COLUMN...
       report.py table FILE.json
       report.py compare OLD.json NEW.json [PERCENT]
       report.py plot FILE.json FOLDER
       report.py document FILE.json TOP [--force]
       report.py history FILE.jsonl
       report.py last FILE.jsonl LIKE.json OUT.json

What scripts/bench does with lines of figures: keeps them as JSON with what machine and which sources they
are of, and shows, compares, draws and documents that. The history has one such JSON a
line; `last' takes the newest of it that is of the same mode and older than LIKE out.
Exit status: 0; 1 with the reason on stderr; 2 where `compare' found a row of the first column
worse by more than PERCENT, and not by chance."""
import datetime
import json
import os
import sys

import compare
import document
import figures as of
import machine
import plot
import table


def collect(raw, out, *words):
    words = list(words)
    options = {}
    while words and words[0].startswith('--'):
        name, value, *words = words
        options[name[2:]] = value
    with open(raw) as f:
        runs, limits, facts = of.read_raw(f)
    bench = {'format': 1, 'mode': options['mode'], 'what': options['what'], 'repeats': int(options['repeats']),
             'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
             'commit': machine.commit(os.path.dirname(os.path.abspath(__file__))),
             'machine': machine.describe(options['load'], options['stolen']), 'facts': facts, 'columns': words, 'units': of.UNITS,
             'runs': runs, 'limits': limits}
    bench['median'] = {row: {c: of.median(bench, row, c) for c in by} for row, by in runs.items()}
    with open(out + '.new', 'w') as f:
        json.dump(bench, f, indent=1)
    os.rename(out + '.new', out)
    if not runs:
        raise of.Wrong('there are no figures')
    for column in words:
        if not any(of.values(bench, row, column) for row in runs):
            print(f'bench: all figures of {column} are void', file=sys.stderr)


def compared(old, new, percent=None):
    old, new = of.load(old), of.load(new)
    compare.print_all(old, new)
    if percent is not None:
        rows = compare.worse(old, new, float(percent))
        for row in rows:
            print(f'worse by more than {percent} %: {of.row_text(row)}', file=sys.stderr)
        if rows:
            sys.exit(2)


def document_all(name, top, *options):
    for file in document.write(of.load(name), top, '--force' in options):
        print(os.path.relpath(file, top))


def plot_all(name, folder):
    files = plot.draw(of.load(name), folder)
    if not files:
        raise of.Wrong('there is nothing to draw: no verb has two sizes')
    for file in files:
        print(os.path.join(folder, file))


def past(name):
    try:
        with open(name) as f:
            return [json.loads(line) for line in f if line.strip()]
    except OSError:
        raise of.Wrong(f'there is no history yet, {name}') from None
    except ValueError:
        raise of.Wrong(f'{name}: not JSON') from None


def history(name):
    """Prints for each mode a line a run, with the first column's medians of rows that all runs have."""
    runs = past(name)
    for mode in dict.fromkeys(r['mode'] for r in runs):
        some = [r for r in runs if r['mode'] == mode]
        rows = [row for row in some[-1]['runs'] if all(of.median(r, row, r['columns'][0]) for r in some)]
        lines = [['mode ' + mode] + [row for row in rows]]
        for r in some:
            lines.append([f'{r["date"]} {r["commit"]["id"]}{"+" if r["commit"]["changed"] else ""}']
                         + [of.number(of.median(r, row, r['columns'][0])) for row in rows])
        print('\n'.join(table.text(lines)))


def last(name, like, out):
    like = of.load(like)
    for r in reversed(past(name)):
        if r['mode'] == like['mode'] and r != like:
            with open(out, 'w') as f:
                json.dump(r, f)
            return
    raise of.Wrong(f'{name} has no older run like this')


COMMANDS = {'collect': collect, 'table': lambda name: table.print_all(of.load(name)), 'compare': compared,
            'plot': plot_all, 'document': document_all, 'history': history, 'last': last}
if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
    print(__doc__)
    sys.exit(0 if sys.argv[1:2] in (['-h'], ['--help']) else 1)
try:
    COMMANDS[sys.argv[1]](*sys.argv[2:])
except of.Wrong as e:
    print(f'bench: {e}', file=sys.stderr)
    sys.exit(1)
