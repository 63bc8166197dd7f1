/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How the address of a message is made, of what somebody else says of it.
 */
#ifndef PINION_PATH_AV_H
#define PINION_PATH_AV_H

struct ib_device;
struct ib_gid_attr;
struct pinion_av;
struct pinion_mlx5_av;

/* What of @av is @source's, which its caller keeps. Return: 0 or -EINVAL. */
int pinion_av_from(struct pinion_av *av, const struct ib_gid_attr *source);

/* All of it, as a datagram in mlx5's format says. Sleeps. Return: 0 or a negative errno. */
int pinion_av_of_mlx5(struct pinion_av *av, struct ib_device *ibdev,
		      const struct pinion_mlx5_av *asked);

#endif
