# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Stands in for cuda-python where there is no GPU: what pyverbs' tests call, and no
more, with memory that /dev/udmabuf exports. The names are those of cuda-python 12."""
from .bindings import __version__
from .bindings import driver as cuda, nvrtc, runtime as cudart
