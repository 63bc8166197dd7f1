/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * As much of CUDA's driver interface as perftest uses: names and meaning. In the place of
 * a GPU's memory there is this machine's.
 */
#ifndef PINION_STANDIN_CUDA_H
#define PINION_STANDIN_CUDA_H

#include <stddef.h>

typedef int CUresult;
typedef int CUdevice;
typedef int CUdevice_attribute;
typedef int CUmemRangeHandleType;
typedef void *CUcontext;
typedef unsigned long long CUdeviceptr;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_NOT_SUPPORTED = 801,
};

enum { CU_CTX_MAP_HOST = 8 };

enum {
	CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
	CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
};

/* Of a range of memory: a dma-buf, and how that is mapped. */
#define CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD 1
#define CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE 1

CUresult cuInit(unsigned int flags);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *bus_id);
CUresult cuDeviceGetName(char *name, int length, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
			      CUdevice device);
CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuMemAlloc(CUdeviceptr *address, size_t size);
CUresult cuMemFree(CUdeviceptr address);
CUresult cuMemAllocHost(void **memory, size_t size);
CUresult cuMemFreeHost(void *memory);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address,
				       size_t size, CUmemRangeHandleType type,
				       unsigned long long flags);

#endif /* PINION_STANDIN_CUDA_H */
