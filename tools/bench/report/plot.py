# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Draws one run with gnuplot: for each verb bandwidth and latency by message size, with a line and its
spread for each column; and bandwidth by the number of queue pairs."""
import os
import subprocess

import figures as of

KINDS = {'bw': ('bandwidth', 'GB/s'), 'lat': ('latency', 'us')}


def pictures(bench):
    """{name: (title, what x is, unit, {column: [(x, median, least, most)]})}, for pictures with at least two points."""
    found = {}
    for row in bench['runs']:
        mtu, condition, verb, kind, size, queues = of.split(row)
        if condition or kind not in KINDS:
            continue
        by = [('bytes', size, '', '')] if queues == 1 else []
        if mtu and verb == 'write' and kind == 'bw' and size == 65536:
            by.append(('queue pairs', queues, ' of 64 KiB by queue pairs', '-queues'))
        for x_is, x, more, name_more in by:
            name = f'{verb}-{KINDS[kind][0]}{name_more}' + (f'-mtu{mtu}' if mtu else '')
            title = f'{verb}{more}, {KINDS[kind][0]}' + (f', MTU {mtu}' if mtu else '')
            _, _, _, lines = found.setdefault(name, (title, x_is, KINDS[kind][1], {}))
            for column in bench['columns']:
                middle = of.median(bench, row, column)
                if middle:
                    lines.setdefault(column, []).append((x, middle, *of.spread(bench, row, column)))
    for _, _, _, lines in found.values():
        for points in lines.values():
            points.sort()
    return {name: p for name, p in found.items() if any(len(points) > 1 for points in p[3].values())}


def script(picture, file):
    title, x_is, unit, lines = picture
    out = ["set terminal svg size 800,500 dynamic background 'white'",
           f"set output '{file}'", f"set title '{title}' noenhanced",
           'set logscale xy', 'set grid', 'set key outside right noenhanced',
           f"set xlabel '{x_is}'", f"set ylabel '{unit}'"]
    if x_is == 'bytes':
        out += ['set logscale x 2', "set format x '%.0b%B'"]
    out.append('plot ' + ', '.join(f"'-' using 1:2:3:4 with yerrorlines title '{column}'" for column in lines))
    for points in lines.values():
        out += [' '.join(f'{v:.6g}' for v in point) for point in points] + ['e']
    return '\n'.join(out) + '\n'


LICENSE = '<!-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB -->\n'


def license_it(path):
    """Adds the licence line, behind the XML declaration, which must come first."""
    with open(path) as file:
        lines = file.readlines()
    lines.insert(1, LICENSE)
    with open(path, 'w') as file:
        file.writelines(lines)


def draw(bench, folder):
    """The names of the SVG files that are now in the folder."""
    if any(c in folder for c in "'\n\\"):
        raise of.Wrong('no quotes, backslashes or newlines in the name of the folder of pictures')
    os.makedirs(folder, exist_ok=True)
    files = []
    for name, picture in pictures(bench).items():
        file = f'{name}.svg'
        try:
            subprocess.run(['gnuplot'], input=script(picture, os.path.join(folder, file)), text=True, check=True)
        except FileNotFoundError:
            raise of.Wrong('gnuplot is not here: apt-get install gnuplot-nox') from None
        except subprocess.CalledProcessError as e:
            raise of.Wrong(f'gnuplot failed: status {e.returncode}') from None
        license_it(os.path.join(folder, file))
        files.append(file)
    return files
