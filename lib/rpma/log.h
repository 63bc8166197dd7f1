/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages of the library, which go to the function that rpma_log_set_function() has
 * set; and macros for failed calls, which log the failure and give the error code.
 */
#ifndef PINION_RPMA_LOG_H
#define PINION_RPMA_LOG_H

#include <errno.h>
#include <string.h>

#include <pinion/librpma.h>

void pinion_rpma_log(enum rpma_log_level level, const char *file, int line,
		     const char *function, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#define LOG(level, ...)                                                       \
	pinion_rpma_log(RPMA_LOG_LEVEL_##level, __FILE__, __LINE__, __func__, \
			__VA_ARGS__)

/* A call of verbs or of the connection manager failed with this errno. */
#define PROVIDER_FAILED(call, why)                                          \
	({                                                                  \
		LOG(ERROR, "%s failed: %s (errno %d)", call, strerror(why), \
		    why);                                                   \
		RPMA_E_PROVIDER;                                            \
	})

#endif /* PINION_RPMA_LOG_H */
