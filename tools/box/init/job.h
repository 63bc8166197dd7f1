/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The job of the box: lists of strings in the files of a folder of the host.
 */
#ifndef BOX_JOB_H
#define BOX_JOB_H

struct job {
	char **conf; /* NAME=VALUE, as are the next two */
	char **env; /* of the command */
	char **setup_env; /* of the scripts */
	char **command;
};

/* Read the job from @folder of the host. The host's files must be mounted, see root.h. */
void job_read(struct job *job, const char *folder);
/* Return: the first VALUE of @name, or @otherwise. */
const char *job_lookup(char **conf, const char *name, const char *otherwise);

#endif /* BOX_JOB_H */
