// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Exports kernel memory to a process as a dma-buf. (The core can do that only for memory of PCI
 * devices.)
 */
#include <linux/fcntl.h>
#include <linux/file.h>
#include <rdma/uverbs_ioctl.h>

#include "../mem/export.h"
#include "ops.h"

/**
 * pinion_answer_export - make a dma-buf of memory and answer with its file descriptor
 * @attrs: of the method
 * @attr: where the descriptor goes, an s32
 * @area: from vmalloc; belongs to an object that @attrs holds, so it cannot be freed meanwhile
 * @size: in bytes, whole pages
 *
 * Return: 0 or a negative errno; then there is no descriptor.
 */
int pinion_answer_export(struct uverbs_attr_bundle *attrs, u16 attr, void *area, size_t size)
{
	struct file *file;
	s32 fd;
	int err;

	file = pinion_export(area, size);
	if (IS_ERR(file))
		return PTR_ERR(file);
	fd = get_unused_fd_flags(O_CLOEXEC);
	err = fd < 0 ? fd : 0;
	if (err)
		goto err_put_file;
	/* fd_install() cannot be undone: other threads can use the descriptor at once. */
	err = uverbs_copy_to(attrs, attr, &fd, sizeof(fd));
	if (err)
		goto err_put_fd;
	fd_install(fd, file);
	return 0;

err_put_fd:
	put_unused_fd(fd);
err_put_file:
	fput(file);
	return err;
}
