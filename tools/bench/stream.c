// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One TCP connection, for comparison: `stream PORT' serves one client and exits. `stream PORT
 * ADDRESS bw|lat BYTES COUNT' sends COUNT messages of BYTES bytes to it, in one direction or as
 * ping-pong, and prints GB/s or half of the mean round trip in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct order {
	unsigned int bytes, count, there_and_back;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void get(int fd, void *to, size_t bytes)
{
	ssize_t got;

	for (; bytes; bytes -= got, to = (char *)to + got) {
		got = recv(fd, to, bytes, 0);
		if (got <= 0)
			fail("recv");
	}
}

static void put(int fd, const void *from, size_t bytes)
{
	ssize_t sent;

	for (; bytes; bytes -= sent, from = (const char *)from + sent) {
		sent = send(fd, from, bytes, 0);
		if (sent <= 0)
			fail("send");
	}
}

static int tcp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0)
		fail("socket");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd;
}

static void serve(struct sockaddr_in *at)
{
	int fd = tcp(), one = 1;
	struct order order;
	unsigned int i;
	char *room;

	if (bind(fd, (void *)at, sizeof(*at)) || listen(fd, 1))
		fail("listen");
	fd = accept(fd, NULL, NULL);
	if (fd < 0)
		fail("accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	get(fd, &order, sizeof(order));
	room = malloc(order.bytes);
	if (!room)
		fail("malloc");
	for (i = 0; i < order.count; i++) {
		get(fd, room, order.bytes);
		if (order.there_and_back)
			put(fd, room, order.bytes);
	}
	put(fd, &one, sizeof(one));
}

static void ask(struct sockaddr_in *at, const struct order *order)
{
	char *data = calloc(1, order->bytes);
	int fd = tcp(), end;
	unsigned int i;
	double time;

	if (!data)
		fail("calloc");
	if (connect(fd, (void *)at, sizeof(*at)))
		fail("connect");
	put(fd, order, sizeof(*order));
	time = now();
	for (i = 0; i < order->count; i++) {
		put(fd, data, order->bytes);
		if (order->there_and_back)
			get(fd, data, order->bytes);
	}
	get(fd, &end, sizeof(end));
	time = now() - time;
	if (order->there_and_back)
		printf("%.9g\n", time / order->count / 2 * 1e6);
	else
		printf("%.9g\n",
		       (double)order->bytes * order->count / time * 1e-9);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	if (argc != 2 && argc != 6) {
		puts("Usage: stream PORT [ADDRESS bw|lat BYTES COUNT]\nExit status: 0, or 1 if it fails");
		return argc != 2;
	}
	at.sin_port = htons(atoi(argv[1]));
	if (argc == 2) {
		serve(&at);
		return 0;
	}
	inet_pton(AF_INET, argv[2], &at.sin_addr);
	ask(&at, &(struct order){ atoi(argv[4]), atoi(argv[5]),
				  !strcmp(argv[3], "lat") });
	return 0;
}
