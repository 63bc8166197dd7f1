# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Pages of the documentation: what stands between two marked lines, and tables."""
import figures as of
import table


def replace(text, marks, lines, name):
    """TEXT of the file NAME, with LINES between the two lines MARKS."""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise of.Wrong(f'{name} has no pair of lines {begin!r} and {end!r}')
    head, rest = text.split(begin)
    return head + begin + '\n' + '\n'.join(lines) + '\n' + end + rest.split(end)[1]


def rst_table(lines):
    """A table of LINES, which are lists of cells; the first is the head."""
    head = [lines[0][0] or ' '] + lines[0][1:]
    rows = [head] + lines[1:]
    wide = [max(w, 2) for w in table.widths(rows)]
    rule = '  '.join('=' * w for w in wide)

    def text(row):
        # An empty first cell would continue the row above.
        return '  '.join(f'{c:{w}}' for c, w in zip([row[0].strip() or '\\'] + row[1:], wide)).rstrip()
    return [rule, text(head), rule] + [text(r) for r in rows[1:]] + [rule]
