// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One GPU, whose memory is that of memfds, exported by /dev/udmabuf. Allocations are few,
 * of one thread, and not freed before the process ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda.h"

enum { MOST = 64, PAGE = 4096 };

static struct allocation {
	CUdeviceptr address;
	size_t size;
	int memfd;
} allocations[MOST];
static int used;

CUresult cuInit(unsigned int flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *bus_id)
{
	(void)bus_id;
	return cuDeviceGet(device, 0);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	(void)device;
	snprintf(name, length, "stand-in");
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
			      CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
	(void)flags;
	*context = &allocations[device];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	(void)context;
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext context)
{
	(void)context;
	return CUDA_SUCCESS;
}

static CUresult map(struct allocation *a)
{
	void *memory;

	if (ftruncate(a->memfd, a->size) ||
	    fcntl(a->memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = mmap(NULL, a->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      a->memfd, 0);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->address = (CUdeviceptr)memory;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size)
{
	struct allocation *a = &allocations[used];
	CUresult result;

	if (used == MOST)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	a->memfd = memfd_create("GPU", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	result = a->memfd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : map(a);
	if (result)
		return result;
	used++;
	*address = a->address;
	return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address)
{
	(void)address;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void **memory, size_t size)
{
	(void)memory, (void)size;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemFreeHost(void *memory)
{
	(void)memory;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	memcpy((void *)to, (void *)from, size);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return cuMemcpy(to, from, size);
}

static struct allocation *find(CUdeviceptr address, size_t size)
{
	struct allocation *a;

	for (a = allocations; a < &allocations[used]; a++) {
		CUdeviceptr offset = address - a->address;

		if (offset <= a->size && size <= a->size - offset)
			return a;
	}
	return NULL;
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address,
				       size_t size, CUmemRangeHandleType type,
				       unsigned long long flags)
{
	struct allocation *a = find(address, size);
	struct udmabuf_create create = { .size = size };
	int udmabuf, fd;

	if (!a || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
	    flags > CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE)
		return CUDA_ERROR_INVALID_VALUE;
	udmabuf = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (udmabuf < 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	create.memfd = a->memfd;
	create.offset = address - a->address;
	fd = ioctl(udmabuf, UDMABUF_CREATE, &create);
	close(udmabuf);
	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(int *)handle = fd;
	return CUDA_SUCCESS;
}
