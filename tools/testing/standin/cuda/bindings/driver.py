# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Device memory is a memfd, and its address that of a mapping of it."""
import ctypes
import enum
import fcntl
import mmap
import os
import struct

UDMABUF_CREATE = 0x40187542
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100


class CUctx_flags(enum.IntEnum):
    CU_CTX_MAP_HOST = 8


class CUpointer_attribute(enum.IntEnum):
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6


class CUmemRangeHandleType(enum.IntEnum):
    CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1


class CUmemRangeFlags(enum.IntEnum):
    CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE = 1


class CUdeviceptr:
    def __init__(self, init_value=0):
        self.value = init_value

    def __int__(self):
        return self.value


# address: (memfd, mapping)
allocated = {}
OK = CUresult.CUDA_SUCCESS


def cuInit(flags):
    return (OK,)


def cuDeviceGet(ordinal):
    return (OK, 0) if ordinal == 0 else (CUresult.CUDA_ERROR_NO_DEVICE, None)


def cuCtxCreate(flags, device):
    return OK, object()


def cuCtxSetCurrent(context):
    return (OK,)


def cuCtxDestroy(context):
    return (OK,)


def cuGetErrorName(error):
    return OK, error.name


def cuMemAlloc(size):
    size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    fd = os.memfd_create('device memory', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)
    mapping = mmap.mmap(fd, size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    allocated[address] = fd, mapping
    return OK, CUdeviceptr(address)


def cuMemFree(pointer):
    entry = allocated.pop(int(pointer), None)
    if not entry:
        return (CUresult.CUDA_ERROR_INVALID_VALUE,)
    os.close(entry[0])
    return (OK,)


def cuPointerSetAttribute(value, attribute, pointer):
    return (OK,)


def cuMemGetHandleForAddressRange(pointer, size, kind, flags):
    fd, mapping = allocated[int(pointer)]
    if size > len(mapping):
        return CUresult.CUDA_ERROR_INVALID_VALUE, None
    with open('/dev/udmabuf', 'r+b', buffering=0) as exporter:
        # memfd, flags, offset, size
        create = bytearray(struct.pack('=IIQQ', fd, 0, 0, size))
        return OK, fcntl.ioctl(exporter, UDMABUF_CREATE, create, True)


def cuMemcpyHtoD(pointer, data, size):
    ctypes.memmove(int(pointer), bytes(data), size)
    return (OK,)


def cuMemcpyDtoH(data, pointer, size):
    data[:size] = ctypes.string_at(int(pointer), size)
    return (OK,)
