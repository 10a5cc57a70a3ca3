/* A network for one machine: emulator HOSTS MBIT DELAY_US
 *
 * Every host is a network namespace, crumb0, crumb1, ..., whose eth0 is a TAP device that ends here. This
 * process is the cables and the switch: frames pass their sender's cable, wait for the delay, and pass their
 * receiver's cable, each cable being busy for the wire time of the bytes (preamble, gaps and checksums
 * counted, and every segment of a batch from the kernel). A cable that is behind is not read from, so that
 * the sender's own queue fills as before a real card; the switch keeps at most BUFFER bytes for a receiver
 * and drops the rest. MBIT 0: no limit.
 *
 * One more port, crumb-host, belongs to the machine itself, for mpirun's control traffic, and has neither
 * limit nor delay. Prints its counters and ends on SIGTERM. Root only.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST = 64,         /* hosts */
	FRAME = 70000,     /* most bytes of one read from a TAP, with its header */
	BUFFER = 2 << 20,  /* bytes of the switch for each receiver */
	BEHIND_NS = 500000 /* most nanoseconds of work on a cable before its host waits */
};

struct frame {
	struct frame *next;
	uint64_t due;
	int len;
	uint8_t data[];
};

struct port {
	int tap;
	uint64_t up_free, down_free; /* when the cable will be idle */
	struct frame *first, **last; /* frames for this host, in order of time */
	uint64_t waiting;            /* their bytes */
};

static struct port port[MOST + 1];
static int hosts;
static double ns_per_byte;
static uint64_t delay;
static uint64_t frames, bytes, drops, late;
static volatile sig_atomic_t stop;

static void end(int signal)
{
	(void)signal;
	stop = 1;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the devices ---------------------------------------------------------------------------- */

static void shell(const char *format, int i)
{
	char command[512];

	snprintf(command, sizeof command, format, i, i, i, i, i, i);
	if (system(command) != 0) {
		fprintf(stderr, "emulator: this failed: %s\n", command);
		exit(1);
	}
}

static void open_tap(int i)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int header = sizeof(struct virtio_net_hdr);

	port[i].tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	snprintf(request.ifr_name, sizeof request.ifr_name, "crumbtap%d", i);
	if (port[i].tap < 0 || ioctl(port[i].tap, TUNSETIFF, &request) < 0 ||
	    ioctl(port[i].tap, TUNSETVNETHDRSZ, &header) < 0 ||
	    ioctl(port[i].tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) < 0)
		die("emulator: /dev/net/tun");
	port[i].last = &port[i].first;
}

/* Sets up host i: 10.97.0.(i+1), with a MAC address that ends in i. A batch of the kernel lasts at most half
 * a millisecond, because a frame arrives with the last segment of its batch. A token bucket at the cable's
 * rate keeps waiting frames in the host's own queue: a TAP takes all at once, so that acknowledgements would
 * wait behind whole windows. */
static void open_host(int i, const char *mbit)
{
	char command[256];
	const double piece = ns_per_byte > 0 ? BEHIND_NS / ns_per_byte : 65536;
	const int bytes = piece > 65536 ? 65536 : piece < 3000 ? 3000 : (int)piece;

	shell("ip link set crumbtap%d netns crumb%d && ip -n crumb%d link set crumbtap%d name eth0", i);
	shell("ip -n crumb%d link set eth0 address 02:00:00:00:00:%02x", i);
	snprintf(command, sizeof command, "ip -n crumb%%d link set eth0 gso_max_size %d", bytes);
	shell(command, i);
	snprintf(command, sizeof command, "ip -n crumb%%d addr add 10.97.0.%d/24 dev eth0", i + 1);
	shell(command, i);
	snprintf(command, sizeof command,
	         "tc -n crumb%%d qdisc replace dev eth0 root tbf rate %smbit burst %d limit 16mb", mbit,
	         bytes + 2000);
	if (ns_per_byte > 0)
		shell(command, i);
	shell("ip -n crumb%d link set eth0 up && ip -n crumb%d link set lo up", i);
}

static void open_machine(int i)
{
	shell("ip link set crumbtap%d name crumb-host && ip link set crumb-host address 02:00:00:00:00:%02x",
	      i);
	shell("ip addr add 10.97.0.254/24 dev crumb-host && ip link set crumb-host up", i);
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Returns bytes on the wire: 24 more than the frame for each segment, and headers for all segments but the
 * first. */
static uint64_t wire_bytes(const struct virtio_net_hdr *header, int len)
{
	const int head = header->hdr_len ? header->hdr_len : 66;
	int segments = 1;

	if (header->gso_type != VIRTIO_NET_HDR_GSO_NONE && header->gso_size)
		segments = (len - head + header->gso_size - 1) / header->gso_size;
	return (uint64_t)(len + (segments - 1) * head + segments * 24);
}

static void enqueue(struct port *to, const uint8_t *data, int len, uint64_t due)
{
	struct frame *frame = malloc(sizeof *frame + (size_t)len);

	if (!frame)
		die("emulator");
	*frame = (struct frame){.due = due, .len = len};
	memcpy(frame->data, data, (size_t)len);
	*to->last = frame;
	to->last = &frame->next;
	to->waiting += (uint64_t)len;
}

/* Sends a frame over two cables, cut through: the second begins with the first bit's arrival, unless it is
 * busy. */
static void pass(int from, int to, const uint8_t *data, int len, uint64_t wire, uint64_t t)
{
	struct port *up = &port[from], *down = &port[to];
	const uint64_t busy = (uint64_t)((double)wire * ns_per_byte);

	if (from == hosts || to == hosts) {
		const uint64_t last = down->waiting ? down->down_free : 0;
		enqueue(down, data, len, last > t ? last : t);
		return;
	}
	const uint64_t begin = up->up_free > t ? up->up_free : t;
	up->up_free = begin + busy;
	frames++;
	bytes += wire;
	if (down->waiting + (uint64_t)len >
	    BUFFER + (uint64_t)(ns_per_byte > 0 ? (double)delay / ns_per_byte : 1e9)) {
		drops++;
		return;
	}
	const uint64_t come = begin + delay, start = down->down_free > come ? down->down_free : come;
	down->down_free = start + busy;
	enqueue(down, data, len, down->down_free);
}

static void receive(int from, uint64_t t)
{
	static uint8_t data[FRAME];

	for (int k = 0; k < 16 && port[from].up_free < t + BEHIND_NS; k++) {
		const ssize_t len = read(port[from].tap, data, sizeof data);
		if (len <= (ssize_t)sizeof(struct virtio_net_hdr) + 14)
			return;
		const uint8_t *mac = data + sizeof(struct virtio_net_hdr);
		const uint64_t wire = wire_bytes((const struct virtio_net_hdr *)(void *)data,
		                                 (int)len - (int)sizeof(struct virtio_net_hdr));
		for (int to = 0; to <= hosts; to++)
			if (to != from && ((mac[0] & 1) || (mac[0] == 2 && mac[5] == to)))
				pass(from, to, data, (int)len, wire, t);
	}
}

static void deliver(struct port *to, uint64_t t)
{
	while (to->first && to->first->due <= t) {
		struct frame *frame = to->first;
		if (write(to->tap, frame->data, (size_t)frame->len) < 0 && errno != EIO)
			drops++;
		late = t - frame->due > late ? t - frame->due : late;
		to->first = frame->next;
		if (!to->first)
			to->last = &to->first;
		to->waiting -= (uint64_t)frame->len;
		free(frame);
	}
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* Waits until a frame has arrived, is due, or may be read again. */
static void rest(struct pollfd *poll, uint64_t t)
{
	uint64_t next = t + 100000000;

	for (int i = 0; i <= hosts; i++) {
		const bool behind = port[i].up_free > t + BEHIND_NS;
		poll[i].events = behind ? 0 : POLLIN;
		if (behind && port[i].up_free - BEHIND_NS < next)
			next = port[i].up_free - BEHIND_NS;
		if (port[i].first && port[i].first->due < next)
			next = port[i].first->due;
	}
	const uint64_t wait = next > t ? next - t : 0;
	ppoll(poll, (nfds_t)hosts + 1,
	      &(struct timespec){(time_t)(wait / 1000000000), (long)(wait % 1000000000)}, NULL);
}

/* Returns the number that a text is, or -1. */
static double number(const char *text)
{
	char *end;
	const double value = strtod(text, &end);
	return end == text || *end || !(value >= 0 && value < 1e12) ? -1 : value;
}

int main(int argc, char **argv)
{
	struct pollfd poll[MOST + 1];
	double given[3];

	for (int i = 0; i < 3; i++)
		given[i] = argc == 4 ? number(argv[i + 1]) : -1;
	if (!(given[0] >= 1 && given[0] <= MOST) || given[1] < 0 || given[2] < 0) {
		fprintf(stderr, "usage: emulator HOSTS MBIT DELAY_US, up to %d hosts\n", MOST);
		return 2;
	}
	hosts = (int)given[0];
	ns_per_byte = given[1] > 0 ? 8000 / given[1] : 0;
	delay = (uint64_t)(1000 * given[2]);
	signal(SIGTERM, end);
	signal(SIGINT, end);
	prctl(PR_SET_TIMERSLACK, 1);
	for (int i = 0; i <= hosts; i++) {
		open_tap(i);
		if (i < hosts)
			open_host(i, argv[2]);
		else
			open_machine(i);
		poll[i].fd = port[i].tap;
	}
	printf("ready\n");
	fflush(stdout);
	while (!stop) {
		uint64_t t = now();
		for (int i = 0; i <= hosts; i++)
			deliver(&port[i], t);
		rest(poll, now());
		t = now();
		for (int i = 0; i <= hosts; i++)
			if (port[i].tap >= 0 && poll[i].revents & POLLIN)
				receive(i, t);
	}
	printf("%llu frames, %.1f MB on the wire, %llu dropped, at most %.2f ms late\n",
	       (unsigned long long)frames, 1e-6 * (double)bytes, (unsigned long long)drops,
	       1e-6 * (double)late);
	return 0;
}
