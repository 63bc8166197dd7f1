# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Facts about the machine and the sources that a reader of the figures needs."""
import glob
import os
import platform
import subprocess


def first_line(name):
    try:
        with open(name) as f:
            return f.readline().strip()
    except OSError:
        return ''


def field(name, key):
    try:
        with open(name) as f:
            for line in f:
                if line.startswith(key):
                    return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return ''


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def turbo():
    for name, off in (('intel_pstate/no_turbo', '1'), ('cpufreq/boost', '0')):
        value = first_line(f'/sys/devices/system/cpu/{name}')
        if value:
            return 'off' if value == off else 'on'
    return 'not known'


def governor():
    some = {first_line(f) for f in glob.glob('/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor')}
    return ' '.join(sorted(some)) or 'not known'


def quota():
    """Limits of the control group that the bench runs in."""
    group = field('/proc/self/cgroup', '0:').lstrip(':')
    return first_line(f'/sys/fs/cgroup{group}/cpu.max') or first_line('/sys/fs/cgroup/cpu.max') or 'none'


def describe(load_before, stolen):
    return {'processor': field('/proc/cpuinfo', 'model name') or platform.machine(),
            'processors': str(os.cpu_count()),
            'memory': field('/proc/meminfo', 'MemTotal'),
            'kernel': platform.release(),
            'virtual': said('systemd-detect-virt') or 'not known',
            'governor': governor(), 'turbo': turbo(), 'quota': quota(),
            'load': f'{load_before} before, {first_line("/proc/loadavg").split()[0]} after',
            'stolen by the hypervisor': stolen,
            'compiler': said('gcc', '-dumpfullversion') or 'not known'}


def commit(folder):
    name = said('git', '-C', folder, 'rev-parse', '--short=12', 'HEAD') or 'not known'
    return {'id': name, 'changed': bool(said('git', '-C', folder, 'status', '--porcelain', '--untracked-files=no'))}
