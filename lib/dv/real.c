// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds the functions of the real libmlx5: it is next in the search order, or loaded now.
 * If this library is installed under libmlx5's name, DV_REAL_PATH is the real one's path.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "dv.h"

#ifdef DV_REAL_PATH
#define REAL_LIBRARY DV_REAL_PATH
#else
#define REAL_LIBRARY "libmlx5.so.1"
#endif

static void *library;

static void load(void)
{
	library = dlopen(REAL_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
}

static void *next(const char *name, const char *version)
{
#ifdef DV_REAL_PATH
	(void)name;
	(void)version;
	return NULL;
#else
	return dlvsym(RTLD_NEXT, name, version);
#endif
}

void *dv_real(const char *name, const char *version)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;
	void *function;

	function = next(name, version);
	if (!function) {
		pthread_once(&once, load);
		function = library ? dlvsym(library, name, version) : NULL;
	}
	errno = saved;
	return function;
}
