/* Packers: the memory of one tensor on one worker.
 *
 * SPDX-License-Identifier: MIT */
#include "base/float_env.h"
#include "codec/codec.h"
#include <math.h>
#include <string.h>

/* The last character is the version of the block. */
static const char magic[8] = "CRMBPK\0\2";

size_t crumb_packer_size(const crumb_codec *codec, size_t n)
{
	DEFAULT_FLOATS;
	const struct codec *c = crumb_codec_valid(codec);
	if (!c || !crumb_bound(codec, n))
		return 0;
	return sizeof(struct crumb_packer) + sizeof(float) * (c->floats && n ? c->floats(codec, n) : 0);
}

int crumb_packer_init(crumb_packer *packer, const crumb_codec *codec, size_t n, size_t run, uint64_t seed)
{
	DEFAULT_FLOATS;
	const size_t size = crumb_packer_size(codec, n);
	if (!packer || !size)
		return CRUMB_EINVAL;
	memset(packer, 0, size);
	memcpy(packer->magic, magic, sizeof magic);
	packer->size = size;
	packer->codec = *codec;
	packer->n = n;
	packer->run = run;
	packer->seed = seed;
	return 0;
}

/* Returns true if a packer's floats, after its head, are finite and not above PACKER_MOST. */
static bool floats_ok(const crumb_packer *packer, size_t size)
{
	const float *const x = (const float *)(packer + 1);
	bool good = true;
	for (size_t i = 0; i < (size - sizeof *packer) / sizeof *x; i++)
		good &= fabsf(x[i]) <= PACKER_MOST;
	return good;
}

int crumb_packer_check(const crumb_packer *packer, size_t size)
{
	DEFAULT_FLOATS;
	if (!packer)
		return CRUMB_EINVAL;
	if (size < sizeof *packer || memcmp(packer->magic, magic, sizeof magic - 1) != 0)
		return CRUMB_EPACKER;
	if (packer->magic[sizeof magic - 1] != magic[sizeof magic - 1])
		return CRUMB_EVERSION;
	if (packer->size != size || (size_t)packer->n != packer->n ||
	    crumb_packer_size(&packer->codec, (size_t)packer->n) != size || packer->agreed > 1 ||
	    packer->measured > 1 || (packer->reserved[0] | packer->reserved[1] | packer->reserved[2]) ||
	    !floats_ok(packer, size))
		return CRUMB_EPACKER;
	const struct agreement *a = crumb_codec_find(packer->codec.id)->agreement;
	return a && a->packer_ok && packer->n && !a->packer_ok(packer) ? CRUMB_EPACKER : 0;
}

const crumb_codec *crumb_packer_codec(const crumb_packer *packer) { return packer ? &packer->codec : NULL; }
size_t crumb_packer_count(const crumb_packer *packer) { return packer ? (size_t)packer->n : 0; }
uint64_t crumb_packer_step(const crumb_packer *packer) { return packer ? packer->step : 0; }

float *crumb_packer_residual(crumb_packer *packer)
{
	const struct codec *c = packer ? crumb_codec_find(packer->codec.id) : NULL;
	return c && c->info->flags & CRUMB_CODEC_RESIDUAL ? packer_floats(packer) : NULL;
}

float *crumb_packer_velocity(crumb_packer *packer)
{
	DEFAULT_FLOATS;
	const struct codec *c = packer ? crumb_codec_find(packer->codec.id) : NULL;
	const size_t n = packer ? (size_t)packer->n : 0;
	const bool has = n && c && c->info->flags & CRUMB_CODEC_MOMENTUM && c->floats(&packer->codec, n) > n;
	return has ? packer_floats(packer) + n : NULL;
}
