/* Rules in plain C.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/rules.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- MXNet's 2-bit compression: +threshold, -threshold or 0, with a residual ---- */

static const float threshold = 0.01f;

static void twobit_pack(struct rule_state *s, const float *grad)
{
	memset(s->word, 0, (s->n + 15) / 16 * sizeof *s->word);
	for (size_t i = 0; i < s->n; i++) {
		s->residual[i] += grad[i];
		if (s->residual[i] >= threshold) {
			s->word[i / 16] |= 3u << 2 * (i % 16);
			s->residual[i] -= threshold;
		} else if (s->residual[i] <= -threshold) {
			s->word[i / 16] |= 2u << 2 * (i % 16);
			s->residual[i] += threshold;
		}
	}
}

static void twobit_add(const struct rule_state *s, float weight, float *acc)
{
	for (size_t i = 0; i < s->n; i++) {
		const uint32_t code = s->word[i / 16] >> 2 * (i % 16) & 3;
		if (code == 3)
			acc[i] += weight * threshold;
		else if (code == 2)
			acc[i] -= weight * threshold;
	}
}

/* ---- BytePS's onebit: signs times the mean magnitude, with error feedback ---- */

static void onebit_pack(struct rule_state *s, const float *grad)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++) {
		s->residual[i] += grad[i];
		sum += fabsf(s->residual[i]);
	}
	s->value[0] = (float)(sum / (double)s->n);
	for (size_t i = 0; i < s->n; i += 32) {
		uint32_t bits = 0;
		for (size_t k = i; k < s->n && k < i + 32; k++)
			bits = bits << 1 | (s->residual[k] < 0);
		s->word[i / 32] = bits;
	}
	for (size_t i = 0; i < s->n; i++)
		s->residual[i] -= s->residual[i] < 0 ? -s->value[0] : s->value[0];
}

static void onebit_add(const struct rule_state *s, float weight, float *acc)
{
	const float scale = weight * s->value[0];
	for (size_t i = 0; i < s->n; i += 32) {
		const size_t count = s->n - i < 32 ? s->n - i : 32;
		for (size_t k = 0; k < count; k++)
			acc[i + k] += s->word[i / 32] >> (count - 1 - k) & 1 ? -scale : scale;
	}
}

/* ---- top-k: a heap of the k largest, the smallest of them on top ---- */

static float size_at(const struct rule_state *s, size_t place) { return fabsf(s->residual[s->word[place]]); }

static void sink(struct rule_state *s, size_t place)
{
	for (;;) {
		size_t least = place;
		for (size_t child = 2 * place + 1; child <= 2 * place + 2 && child < s->k; child++)
			if (size_at(s, child) < size_at(s, least))
				least = child;
		if (least == place)
			return;
		const uint32_t moved = s->word[place];
		s->word[place] = s->word[least];
		s->word[least] = moved;
		place = least;
	}
}

static void topk_pack(struct rule_state *s, const float *grad)
{
	for (size_t i = 0; i < s->n; i++)
		s->residual[i] += grad[i];
	for (size_t i = 0; i < s->k; i++)
		s->word[i] = (uint32_t)i;
	for (size_t i = s->k / 2; i-- > 0;)
		sink(s, i);
	for (size_t i = s->k; i < s->n; i++)
		if (fabsf(s->residual[i]) > size_at(s, 0)) {
			s->word[0] = (uint32_t)i;
			sink(s, 0);
		}
	for (size_t i = 0; i < s->k; i++) {
		s->value[i] = s->residual[s->word[i]];
		s->residual[s->word[i]] = 0;
	}
}

static void topk_add(const struct rule_state *s, float weight, float *acc)
{
	for (size_t i = 0; i < s->k; i++)
		acc[s->word[i]] += weight * s->value[i];
}

/* ---- QSGD: 7 levels and a sign in 4 bits, by the l2 norm of buckets of 512 ---- */

enum { BUCKET = 512, LEVELS = 7 };

static void qsgd_pack(struct rule_state *s, const float *grad)
{
	uint64_t random = 88172645463325252u; /* xorshift64 */
	uint8_t *code = (uint8_t *)s->word;
	memset(code, 0, s->n / 2 + 1);
	for (size_t first = 0; first < s->n; first += BUCKET) {
		const size_t end = s->n - first < BUCKET ? s->n : first + BUCKET;
		double squares = 0;
		for (size_t i = first; i < end; i++)
			squares += (double)grad[i] * grad[i];
		const float norm = (float)sqrt(squares);
		s->value[first / BUCKET] = norm;
		for (size_t i = first; i < end && norm > 0; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			const float at = fabsf(grad[i]) / norm * LEVELS,
			            chance = (float)(random >> 40) * 0x1p-24f;
			unsigned level = (unsigned)at;
			level += at - (float)level > chance;
			code[i / 2] |= (uint8_t)((level | (grad[i] < 0) << 3) << 4 * (i % 2));
		}
	}
}

static void qsgd_add(const struct rule_state *s, float weight, float *acc)
{
	const uint8_t *code = (const uint8_t *)s->word;
	for (size_t i = 0; i < s->n; i++) {
		const unsigned x = code[i / 2] >> 4 * (i % 2) & 15;
		const float size = weight * s->value[i / BUCKET] * (float)(x & 7) / LEVELS;
		acc[i] += x & 8 ? -size : size;
	}
}

const struct rule rules[] = {
        {"the rule of MXNet 2-bit in plain C", 0, twobit_pack, twobit_add},
        {"the rule of BytePS onebit in plain C", 0, onebit_pack, onebit_add},
        {"plain top-k of 0.3 % in plain C", 0.003, topk_pack, topk_add},
        {"the rule of QSGD in plain C", 0, qsgd_pack, qsgd_add},
};
const size_t rules_count = sizeof rules / sizeof *rules;
