// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <sys/socket.h>

#include "../peers.h"
#include "peers.h"

void peers_tell(int fd, int type, int32_t value)
{
	struct peers_message m = { .type = type, .value = value };

	/* Ignore the error if box-hosts has ended. */
	if (fd >= 0)
		(void)!send(fd, &m, sizeof(m), 0);
}

int peers_hear(int fd)
{
	struct peers_message m;
	ssize_t n;

	do
		n = recv(fd, &m, sizeof(m), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(m) ? m.type : 0;
}
