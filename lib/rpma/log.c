// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages. Those within the threshold go to the user's function, or to ours, which
 * writes to syslog and, within a threshold of its own, to stderr. The settings are
 * atomic and may change at any time. openlog() is left to the program.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <syslog.h>
#include <unistd.h>

#include "log.h"

static void to_syslog_and_stderr(enum rpma_log_level level, const char *file,
				 const int line, const char *function,
				 const char *format, ...);

static _Atomic(rpma_log_function *) say = to_syslog_and_stderr;

static _Atomic enum rpma_log_level thresholds[RPMA_LOG_THRESHOLD_MAX] = {
	[RPMA_LOG_THRESHOLD] = RPMA_LOG_LEVEL_WARNING,
	[RPMA_LOG_THRESHOLD_AUX] = RPMA_LOG_DISABLED,
};

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[RPMA_LOG_LEVEL_FATAL] = { "fatal", LOG_CRIT },
	[RPMA_LOG_LEVEL_ERROR] = { "error", LOG_ERR },
	[RPMA_LOG_LEVEL_WARNING] = { "warning", LOG_WARNING },
	[RPMA_LOG_LEVEL_NOTICE] = { "notice", LOG_NOTICE },
	[RPMA_LOG_LEVEL_INFO] = { "info", LOG_INFO },
	[RPMA_LOG_LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};

static void to_syslog_and_stderr(enum rpma_log_level level, const char *file,
				 const int line, const char *function,
				 const char *format, ...)
{
	char text[512];
	va_list args;

	if (level < RPMA_LOG_LEVEL_FATAL || level > RPMA_LOG_LEVEL_DEBUG)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	syslog(LOG_LOCAL7 | levels[level].priority, "rpma: %s: %s:%d: %s: %s",
	       levels[level].name, file, line, function, text);
	if (level <= atomic_load(&thresholds[RPMA_LOG_THRESHOLD_AUX]))
		fprintf(stderr, "rpma[%d]: %s: %s:%d: %s: %s\n", getpid(),
			levels[level].name, file, line, function, text);
}

void pinion_rpma_log(enum rpma_log_level level, const char *file, int line,
		     const char *function, const char *format, ...)
{
	char text[512];
	va_list args;
	int why;

	if (level > atomic_load(&thresholds[RPMA_LOG_THRESHOLD]))
		return;
	/* Do not change errno: the caller may still need it. */
	why = errno;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	atomic_load (&say)(level, file, line, function, "%s", text);
	errno = why;
}

int rpma_log_set_function(rpma_log_function *log_function)
{
	if (log_function == RPMA_LOG_USE_DEFAULT_FUNCTION)
		log_function = to_syslog_and_stderr;
	atomic_store(&say, log_function);
	return 0;
}

static bool is_threshold(enum rpma_log_threshold threshold)
{
	return threshold == RPMA_LOG_THRESHOLD ||
	       threshold == RPMA_LOG_THRESHOLD_AUX;
}

int rpma_log_set_threshold(enum rpma_log_threshold threshold,
			   enum rpma_log_level level)
{
	if (!is_threshold(threshold) || level < RPMA_LOG_DISABLED ||
	    level > RPMA_LOG_LEVEL_DEBUG)
		return RPMA_E_INVAL;
	atomic_store(&thresholds[threshold], level);
	return 0;
}

int rpma_log_get_threshold(enum rpma_log_threshold threshold,
			   enum rpma_log_level *level)
{
	if (!is_threshold(threshold) || !level)
		return RPMA_E_INVAL;
	*level = atomic_load(&thresholds[threshold]);
	return 0;
}
