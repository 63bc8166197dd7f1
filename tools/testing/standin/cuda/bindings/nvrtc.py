# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
import enum


class nvrtcResult(enum.IntEnum):
    NVRTC_SUCCESS = 0
