/* Messages of the exchange.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "exchange/exchange.h"
#include "exchange/message.h"
#include "exchange/why.h"

static const char magic[4] = {'C', 'R', 'M', 'X'};
static const uint16_t format = 4;
static const uint32_t crumb = CRUMB_VERSION_MAJOR << 16 | CRUMB_VERSION_MINOR << 8 | CRUMB_VERSION_PATCH;

void crumb_message_head(struct message_head *head)
{
	memcpy(head->magic, magic, sizeof magic);
	head->format = format;
	head->crumb = crumb;
}

/* Returns the hash of what a head and its body say. */
static uint64_t sum_of(const struct message_head *head, const uint8_t *data, size_t body)
{
	return crumb_message_hash(crumb_message_mix(head->next, head->count), data, body);
}

void crumb_message_seal(const struct message_head *head, struct outgoing *message)
{
	struct message_head sealed = *head;

	if (head->error)
		message->body = 0, message->len = sizeof sealed;
	sealed.sum = sum_of(&sealed, message->data + sizeof sealed, message->body);
	memcpy(message->data, &sealed, sizeof sealed);
}

int crumb_message_check(const struct message_head *mine, crumb_span message, uint32_t from, char *why,
                        size_t cap)
{
	struct message_head its = {0};
	const unsigned long long step = mine->step;

	if (message.len >= sizeof its)
		memcpy(&its, message.data, sizeof its);
	if (message.len < sizeof its || memcmp(its.magic, magic, sizeof magic) != 0)
		return refuse(why, cap, CRUMB_EFRAME,
		              "step %llu: rank %u sent no message of an exchange (%zu bytes)", step, from,
		              message.len);
	if (its.format != format || its.crumb != crumb)
		return refuse(
		        why, cap, CRUMB_EVERSION,
		        "step %llu: rank %u runs crumb %u.%u.%u, messages of format %u; here %u.%u.%u, %u",
		        step, from, its.crumb >> 16, its.crumb >> 8 & 255, its.crumb & 255, its.format,
		        crumb >> 16, crumb >> 8 & 255, crumb & 255, format);
	if (its.error)
		return refuse(why, cap, its.error < 0 ? its.error : CRUMB_EFRAME, "step %llu: rank %u: %s",
		              step, from, crumb_strerror(its.error));
	if (its.step != mine->step || its.phase != mine->phase || its.rank != from)
		return refuse(
		        why, cap, CRUMB_EFRAME,
		        "step %llu: rank %u sent a message of step %llu, phase %u, to phase %u of rank %u",
		        step, from, (unsigned long long)its.step, its.phase, mine->phase, mine->rank);
	if (mine->error && mine->phase == MESSAGE_TELL)
		return 0; /* a rank that could not open has no table; its own error is the answer */
	const struct {
		uint64_t its, mine;
		const char *what;
	} same[] = {
	        {its.segments, mine->segments, "overlaps otherwise, in another number of segments,"},
	        {its.segment, mine->segment, "is in another segment"},
	        {its.table, mine->table, "has another slice table"},
	        {its.setup, mine->setup, "has another plan, codec, seed or number of learners"},
	        {its.model, mine->model, "trains another model, or with other options,"},
	        {its.weights, mine->weights, "weights the learners otherwise"},
	};
	for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
		if (same[i].its != same[i].mine)
			return refuse(why, cap, CRUMB_EFRAME,
			              "step %llu: rank %u %s than rank %u (%016llx, %016llx)", step, from,
			              same[i].what, mine->rank, (unsigned long long)same[i].its,
			              (unsigned long long)same[i].mine);
	return 0;
}

const uint8_t *crumb_message_body(crumb_span message, size_t body)
{
	struct message_head its;

	if (message.len - sizeof its < body)
		return NULL;
	memcpy(&its, message.data, sizeof its);
	const uint8_t *data = (const uint8_t *)message.data + sizeof its;
	return sum_of(&its, data, body) == its.sum ? data : NULL;
}

/* The finaliser of splitmix64. The odd constant makes zeros count. */
uint64_t crumb_message_mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) + 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

uint64_t crumb_message_hash(uint64_t h, const void *data, size_t len)
{
	const unsigned char *byte = data;

	h = crumb_message_mix(h, len);
	for (size_t at = 0; at < len; at += 8) {
		uint64_t x = 0;
		memcpy(&x, byte + at, len - at < 8 ? len - at : 8);
		h = crumb_message_mix(h, x);
	}
	return h;
}
