/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the box shall do: lists of strings in the files of a folder of the host.
 */
#ifndef BOX_JOB_H
#define BOX_JOB_H

struct job {
	char **conf; /* NAME=VALUE, as are the next two */
	char **env; /* of the command */
	char **setup_env; /* of the scripts */
	char **command;
};

/* From @folder of the host, which is in reach, see root.h. */
void job_read(struct job *job, const char *folder);
/* The first VALUE of @name, or @otherwise. */
const char *job_lookup(char **conf, const char *name, const char *otherwise);

#endif /* BOX_JOB_H */
