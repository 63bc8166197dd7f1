// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "file.h"
#include "job.h"
#include "root.h"

/* Read a file of strings, each with a 0 byte at its end. Return: a vector of them. */
static char **vector(const char *folder, const char *name)
{
	char path[8300], **v = NULL, *buf, *p;
	size_t len, n = 0;

	snprintf(path, sizeof(path), "%s%s/%s", host_root, folder, name);
	buf = slurp(path, &len);
	if (!buf)
		die("cannot read %s: %s", path, strerror(errno));
	for (p = buf; p < buf + len; p += strlen(p) + 1) {
		v = realloc(v, (n + 2) * sizeof(*v));
		v[n++] = p;
	}
	v = realloc(v, (n + 1) * sizeof(*v));
	v[n] = NULL;
	return v;
}

void job_read(struct job *job, const char *folder)
{
	job->conf = vector(folder, "conf");
	job->env = vector(folder, "env");
	job->setup_env = vector(folder, "setup.env");
	job->command = vector(folder, "argv");
}

const char *job_lookup(char **conf, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (; *conf; conf++)
		if (!strncmp(*conf, name, len) && (*conf)[len] == '=')
			return *conf + len + 1;
	return otherwise;
}
