// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asks graphics drivers for memory. Draws nothing.
 */
#include "picture.h"

/* Not all distributions have these headers. */
#if __has_include(<drm/drm.h>)
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <drm/drm.h>
#include <drm/drm_mode.h>

#include "buf.h"

static bool drives(int fd, const char *driver)
{
	char name[32] = "";
	struct drm_version version = { .name = name,
				       .name_len = sizeof(name) - 1 };

	return !ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, driver);
}

static int card_fd(struct card *card)
{
	char path[32];
	int i, fd;

	for (i = 0; i < 8 && card->fd <= 0; i++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (drives(fd, card->driver))
			card->fd = fd;
		else
			close(fd);
	}
	return card->fd;
}

int picture_get(struct card *card, size_t size)
{
	struct drm_mode_create_dumb create = { .width = PAGE / 4,
					       .height = size / PAGE,
					       .bpp = 32 };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_gem_close end = {};

	if (card_fd(card) <= 0)
		return -1;
	CHECK_EQ(ioctl(card->fd, DRM_IOCTL_MODE_CREATE_DUMB, &create), 0);
	CHECK_EQ(create.size, size);
	prime.handle = create.handle;
	CHECK_EQ(ioctl(card->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), 0);
	end.handle = create.handle;
	CHECK_EQ(ioctl(card->fd, DRM_IOCTL_GEM_CLOSE, &end), 0);
	return prime.fd;
}
#else
int picture_get(struct card *card, size_t size)
{
	(void)card;
	(void)size;
	return -1;
}
#endif
