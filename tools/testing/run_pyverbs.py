#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs the tests of pyverbs, except modules for the devices of one vendor, and prints their
results in KTAP. A test that takes too long fails, and the others still run. Tests of on-demand
paging run twice: the suite sends the same byte repeatedly, which does not show where a byte came
from, so a copy of the suite (DIR/varied) sends different bytes.

Usage: run_pyverbs.py DIR DEVICE GID_INDEX SECONDS LEAST [TEST...]
DIR has the modules of the `tests' package. LEAST is the number of tests that must pass.
Exit status: 0 if at least LEAST passed and none failed, else 1; 2 for wrong arguments.
"""
import multiprocessing
import os
import re
import select
import shutil
import subprocess
import sys
import unittest

# Data that each side sends and expects in the tests, instead of one letter repeated.
VARIED = '''
import functools, string

@functools.lru_cache(maxsize=8)
def varied(is_server, size):
    return ''.join(random.Random(f'server {is_server}').choices(string.printable, k=size))

'''
VARY = (
    ("agr_obj.msg_size * (b's' if is_server else b'c')",
     "varied(is_server, agr_obj.msg_size).encode()"),
    ("(agr_obj.msg_size + offset) * ('s' if is_server else 'c')",
     "offset * '-' + varied(is_server, agr_obj.msg_size)"),
    ("(agr_obj.msg_size) * ('s' if is_server else 'c')", "varied(is_server, agr_obj.msg_size)"),
    ("msg_size * ('c' if is_server else 's')", "varied(not is_server, msg_size)"),
    ("'s' * server.msg_size", "varied(True, server.msg_size)"),
    ("'c' * client.msg_size", "varied(False, client.msg_size)"),
)

# Fail on any device with older kernels, whose rdma_cm lacks what they need.
NEEDS_KERNEL = {
    'tests.test_rdmacm.CMTestCase.test_rdmacm_async_resolve_addrinfo': (6, 17),
}

VENDORS = re.compile(r'test_(mlx5|efa|irdma|mana|hns)')


class Reporter(unittest.TestResult):
    """Tells the parent process of each test: one line when it starts, one when it ends."""

    def __init__(self, stream):
        super().__init__()
        self.stream = stream

    def tell(self, word, test, text=''):
        text = ' '.join(str(text).split('\n')).strip()
        print(word, test.id(), text, sep='\t', file=self.stream, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.tell('start', test)

    def addSuccess(self, test):
        self.tell('ok', test)

    def addSkip(self, test, reason):
        self.tell('skip', test, reason)

    def failed(self, test, err):
        text = self._exc_info_to_string(err, test).rstrip().split('\n')
        self.tell('fail', test, ' | '.join(text[-12:]))

    addFailure = addError = lambda self, test, err: self.failed(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.failed(test, err)


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def mend_dmabuf(modules):
    """DmaBufMR calls a method of DmaBuf that is a C function, which raises AttributeError,
    on any device. Where the tests let DmaBufMR create one, pass a DmaBuf that has the method."""
    try:
        from pyverbs import dmabuf, mr
    except ImportError:
        return
    if hasattr(dmabuf.DmaBuf, 'add_ref'):
        return

    class DmaBuf(dmabuf.DmaBuf):
        def add_ref(self, obj):
            pass

    class DmaBufMR(mr.DmaBufMR):
        def __init__(self, pd, length, access, dmabuf=None, offset=0, gpu=0, gtt=0):
            if dmabuf is None:
                dmabuf = DmaBuf(length + offset, gpu, gtt)
            super().__init__(pd, length, access, dmabuf, offset)

    for module in modules:
        if hasattr(module, 'DmaBufMR'):
            module.DmaBufMR = DmaBufMR


def vary(directory):
    """Make a copy of the tests that sends other data; None if this version cannot be changed."""
    with open(os.path.join(directory, 'tests', 'utils.py')) as f:
        text = f.read()
    for old, new in VARY:
        if text.count(old) != 1:
            return None
        text = text.replace(old, new)
    copy = os.path.join(directory, 'varied')
    shutil.copytree(os.path.join(directory, 'tests'), os.path.join(copy, 'tests'))
    with open(os.path.join(copy, 'tests', 'utils.py'), 'w') as f:
        f.write(text.replace('import random\n', 'import random\n' + VARIED, 1))
    return copy


def worker(directory, device, gid, names):
    """Without names, list the tests; else run them. The protocol is on descriptor 3."""
    out = os.fdopen(3, 'w')
    # Python's default before 3.14; with others a test object cannot be sent to a new process.
    multiprocessing.set_start_method('fork')
    sys.path.insert(0, directory)
    sys.path.insert(0, os.path.join(directory, 'tests'))
    sys.argv = ['run_tests.py', '--dev', device, '--gid', gid]
    from args_parser import parser
    parser.parse_args()
    import tests
    mend_dmabuf(tests.__test_modules__)
    loader = unittest.TestLoader()
    found = {}
    for module in tests.__test_modules__:
        if names or not VENDORS.match(module.__name__.rsplit('.', 1)[-1]):
            for test in flatten(loader.loadTestsFromModule(module)):
                # In some versions a module also lists tests of classes it imports.
                if type(test).__module__ == module.__name__:
                    found[test.id()] = test
    if not names:
        for name in sorted(found):
            print(name, file=out, flush=True)
        return
    suite = unittest.TestSuite(found[name] for name in names)
    suite.run(Reporter(out))


def spawn(args):
    r, w = os.pipe()
    # The worker has it as descriptor 3, whatever its number is here.
    child = subprocess.Popen(
        ['sh', '-c', 'fd=$1; shift; eval "exec 3>&$fd"; exec "$@"', 'sh', str(w),
         sys.executable, __file__, '--worker', *args],
        pass_fds=(w,), stdin=subprocess.DEVNULL, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(w)
    return child, r


def kill(child):
    try:
        os.killpg(child.pid, 9)
    except ProcessLookupError:
        pass
    child.wait()


def lines(fd, seconds):
    """Yield the lines of a worker; None if it prints nothing for too long."""
    rest = b''
    while True:
        if not select.select([fd], [], [], seconds)[0]:
            yield None
            return
        data = os.read(fd, 65536)
        if not data:
            return
        *whole, rest = (rest + data).split(b'\n')
        for line in whole:
            yield line.decode(errors='replace')


def mark(name):
    """Writes a line to the guest's kernel log, to show which test the next lines belong to."""
    if 'BED' in os.environ and os.access('/dev/kmsg', os.W_OK):
        with open('/dev/kmsg', 'w') as log:
            log.write(f'test: pyverbs: {name}\n')


def main():
    directory, device, gid, seconds, least, *names = sys.argv[1:]
    seconds = float(seconds)
    if not names:
        child, fd = spawn([directory, device, gid])
        names = [n for n in lines(fd, seconds) if n]
        kill(child)
    if not names:
        print('not ok 1 load # the tests could not be loaded')
        print('1..1')
        return 1
    count = {'ok': 0, 'skip': 0, 'fail': 0}
    number = 0

    def report(word, name, text=''):
        nonlocal number
        number += 1
        count[word] += 1
        if word == 'fail':
            print('#', text.replace(' | ', '\n# '))
            print(f'not ok {number} {name}')
        else:
            print(f'ok {number} {name}' + (f' # SKIP {text}' if word == 'skip' else ''))
        sys.stdout.flush()

    def run_all(directory, names, prefix=''):
        left = list(names)
        release = tuple(int(n) for n in re.findall(r'\d+', os.uname().release)[:2])

        def done(word, name, text=''):
            left.remove(name)
            report(word, prefix + name.replace('tests.', '', 1), text)

        for name in names:
            if release < NEEDS_KERNEL.get(name, (0,)):
                done('skip', name, "not in this kernel's rdma_cm")
        while left:
            child, fd = spawn([directory, device, gid, *left])
            running, before = None, len(left)
            for line in lines(fd, seconds):
                if line is None:
                    break
                word, name, text = line.split('\t', 2)
                if word == 'start':
                    running = name
                    mark(prefix + name.replace('tests.', '', 1))
                elif name in left:
                    done(word, name, text)
                    running = None
            else:
                child.wait()
                if running:
                    done('fail', running, f'the process died: {child.returncode}')
            if running and running in left:
                done('fail', running, f'no end after {seconds:.0f}s')
            kill(child)
            os.close(fd)
            if len(left) == before:
                done('fail', left[0], 'not started')

    run_all(directory, names)
    passed = count['ok']
    on_demand = [n for n in names if '.test_odp.' in n]
    varied = vary(directory) if on_demand else None
    if varied:
        run_all(varied, on_demand, 'varied.')
    elif on_demand:
        report('skip', 'varied', 'these tests are written otherwise')

    number += 1
    enough = passed >= int(least)
    print(f'{"" if enough else "not "}ok {number} at-least-{least}-pass # {passed} do')
    print(f'1..{number}')
    return 0 if enough and not count['fail'] else 1


# False when a test's own process imports this file again.
if __name__ == '__main__':
    if sys.argv[1:2] == ['--worker']:
        worker(*sys.argv[2:5], sys.argv[5:])
    elif len(sys.argv) < 6:
        print(__doc__)
        sys.exit(2)
    else:
        sys.exit(main())
