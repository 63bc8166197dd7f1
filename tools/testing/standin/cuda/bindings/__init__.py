# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
__version__ = '12.0.0'
