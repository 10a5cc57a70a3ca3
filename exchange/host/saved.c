/* An exchange between two steps, as bytes: a head, and this rank's packers, slice after slice, each debtor's
 * and then the mean's.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange_state.h"
#include "exchange/why.h"

struct saved_head {     /* little-endian, as it lies here, without gaps */
	char magic[4];  /* "CRMS" */
	uint32_t crumb; /* as in a message_head */
	uint32_t rank, ranks;
	uint64_t step, model, table, setup; /* as in a message_head */
	uint64_t sum;                       /* hash of step and packers */
};

static const char magic[4] = {'C', 'R', 'M', 'S'};

static struct saved_head head_of(const struct crumb_exchange *x)
{
	struct saved_head head = {.crumb = x->head.crumb,
	                          .rank = x->rank,
	                          .ranks = x->ranks,
	                          .step = x->step,
	                          .model = x->head.model,
	                          .table = x->head.table,
	                          .setup = x->head.setup};

	memcpy(head.magic, magic, sizeof magic);
	return head;
}

static size_t debtors(const struct crumb_exchange *x)
{
	size_t first, count;

	crumb_exchange_debtors(x, &first, &count);
	return count;
}

/* Returns the i-th packer of this rank; NULL for the mean of a slice that another rank averages. */
static crumb_packer *packer_of(const struct crumb_exchange *x, size_t i)
{
	const size_t each = debtors(x) + 1, s = i / each, d = i % each;

	return d < each - 1 ? crumb_exchange_debtor_packer(x, d, s) : crumb_exchange_mean_packer(x, s);
}

static size_t packers(const struct crumb_exchange *x) { return x->slices * (debtors(x) + 1); }

static size_t size_of(const crumb_packer *packer)
{
	return packer ? crumb_packer_size(crumb_packer_codec(packer), crumb_packer_count(packer)) : 0;
}

static size_t body_of(const struct crumb_exchange *x)
{
	size_t size = 0;

	for (size_t i = 0; i < packers(x); i++)
		size += size_of(packer_of(x, i));
	return size;
}

size_t crumb_exchange_save(const struct crumb_exchange *x, void *dst, size_t cap)
{
	struct saved_head head = head_of(x);
	const size_t body = body_of(x);

	if (!dst || cap < sizeof head + body)
		return sizeof head + body;
	uint8_t *at = (uint8_t *)dst + sizeof head;
	for (size_t i = 0; i < packers(x); i++) {
		const crumb_packer *packer = packer_of(x, i);
		const size_t size = size_of(packer);
		if (packer)
			memcpy(at, packer, size);
		at += size;
	}
	head.sum = crumb_message_hash(head.step, (uint8_t *)dst + sizeof head, body);
	memcpy(dst, &head, sizeof head);
	return sizeof head + body;
}

/* Returns 0 if the bytes are what a rank like this one has saved. */
static int check(struct crumb_exchange *x, const uint8_t *src, size_t len)
{
	const struct saved_head mine = head_of(x);
	struct saved_head its = {0};

	if (len >= sizeof its)
		memcpy(&its, src, sizeof its);
	if (memcmp(its.magic, magic, sizeof magic) != 0)
		return refuse(x->why, sizeof x->why, CRUMB_EPACKER, "these %zu bytes are no saved exchange",
		              len);
	if (its.crumb != mine.crumb)
		return refuse(x->why, sizeof x->why, CRUMB_EVERSION, "saved by crumb %u.%u.%u, not %s",
		              its.crumb >> 16, its.crumb >> 8 & 255, its.crumb & 255, crumb_version());
	if (its.rank != mine.rank || its.ranks != mine.ranks)
		return refuse(x->why, sizeof x->why, CRUMB_EPACKER,
		              "saved by rank %u of %u, not rank %u of %u", its.rank, its.ranks, mine.rank,
		              mine.ranks);
	if (its.table != mine.table || its.setup != mine.setup || its.model != mine.model)
		return refuse(x->why, sizeof x->why, CRUMB_EPACKER, "saved with other %s",
		              its.table != mine.table   ? "slices"
		              : its.setup != mine.setup ? "codecs, or another plan or seed"
		                                        : "options or for another model");
	if (len != sizeof its + body_of(x) ||
	    crumb_message_hash(its.step, src + sizeof its, len - sizeof its) != its.sum)
		return refuse(x->why, sizeof x->why, CRUMB_EPACKER, "the saved exchange is damaged");
	return 0;
}

/* Returns 0 if each of the packers at src is one that may take the place of this rank's. */
static int check_packers(struct crumb_exchange *x, const uint8_t *src)
{
	size_t most = 0;
	int error = 0;

	for (size_t i = 0; i < packers(x); i++)
		most = size_of(packer_of(x, i)) > most ? size_of(packer_of(x, i)) : most;
	crumb_packer *copy = crumb_exchange_alloc(most);
	if (!copy)
		return refuse(x->why, sizeof x->why, CRUMB_EMEMORY, "out of memory");
	for (size_t i = 0; i < packers(x) && !error; i++) {
		const crumb_packer *packer = packer_of(x, i);
		const size_t size = size_of(packer);
		if (!packer)
			continue;
		memcpy(copy, src, size);
		error = crumb_packer_check(copy, size);
		if (!error &&
		    (crumb_packer_count(copy) != crumb_packer_count(packer) ||
		     memcmp(crumb_packer_codec(copy), crumb_packer_codec(packer), sizeof(crumb_codec)) != 0))
			error = CRUMB_EPACKER;
		src += size;
	}
	free(copy);
	return error ? refuse(x->why, sizeof x->why, error, "a saved packer: %s", crumb_strerror(error)) : 0;
}

int crumb_exchange_load(struct crumb_exchange *x, const void *src, size_t len)
{
	struct saved_head head;

	if (x->failed)
		return x->failed;
	int error = check(x, src, len);
	if (!error)
		error = check_packers(x, (const uint8_t *)src + sizeof head);
	if (error)
		return error;
	memcpy(&head, src, sizeof head);
	const uint8_t *at = (const uint8_t *)src + sizeof head;
	for (size_t i = 0; i < packers(x); i++) {
		crumb_packer *packer = packer_of(x, i);
		const size_t size = size_of(packer);
		if (packer)
			memcpy(packer, at, size);
		at += size;
	}
	x->step = crumb_exchange_packing(x) ? (crumb_exchange_packing(x)->step = head.step) : head.step;
	return 0;
}
