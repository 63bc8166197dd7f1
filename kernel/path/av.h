/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Fills the address (struct pinion_av) of messages.
 */
#ifndef PINION_PATH_AV_H
#define PINION_PATH_AV_H

struct ib_device;
struct ib_gid_attr;
struct pinion_av;
struct pinion_mlx5_av;

/* Set the fields of @av that depend on the source GID @source. Return: 0 or -EINVAL. */
int pinion_av_from(struct pinion_av *av, const struct ib_gid_attr *source);

/* Fill @av for a datagram in mlx5's format. Sleeps. Return: 0 or a negative errno. */
int pinion_av_of_mlx5(struct pinion_av *av, struct ib_device *ibdev,
		      const struct pinion_mlx5_av *asked);

#endif
