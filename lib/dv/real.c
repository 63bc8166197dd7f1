// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds the functions of the real libmlx5: after us in the search order, or loaded now.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "dv.h"

static void *library;

static void load(void)
{
	library = dlopen("libmlx5.so.1", RTLD_LAZY | RTLD_LOCAL);
}

void *dv_real(const char *name, const char *version)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;
	void *function;

	function = dlvsym(RTLD_NEXT, name, version);
	if (!function) {
		pthread_once(&once, load);
		function = library ? dlvsym(library, name, version) : NULL;
	}
	errno = saved;
	return function;
}
