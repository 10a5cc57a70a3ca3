/* bench/codecs: the speed of codecs, of published rules in plain C, and of entropy coders, beside memory's,
 * on one thread.
 *
 *    codecs [GRADIENT.npy]...          lines of CSV
 *
 * Measures every codec with every instruction set of this machine, on workload.h's gradients of 4 Ki to 64 Mi
 * elements, and on dumped ones. Columns: the CPU; the source of the elements, and their number; instruction
 * set; subject; and GB/s of f32 as speed.h defines them: pack, pack_safe, unpack, and alternating with these
 * r += g, the sum of g, acc *= s, a copy of g. A coder packs and unpacks symbols of four bits at fixed width,
 * one an element, of the given entropy.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/coders.h"
#include "bench/gathered.h"
#include "bench/rules.h"
#include "bench/subjects.h"
#include "coding/blocks.h"
#include "measure/speed.h"
#include "program/npy.h"
#include "program/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Codecs that decode many frames together. */
static const char *const divided[] = {"twobit", "terngrad", "qsgd"};

/* safe: pack_safe was measured. */
static void print_row(const char *data, size_t n, const char *isa, const char *what, bool safe,
                      const double gbps[SPEED_KERNELS])
{
	printf("%s,%s,%zu,%s,\"%s\",%.4g,", subject_cpu(), data, n, isa, what, gbps[SPEED_PACK]);
	if (safe)
		printf("%.4g", gbps[SPEED_PACK_SAFE]);
	printf(",%.4g,%.4g,%.4g,%.4g,%.4g\n", gbps[SPEED_UNPACK], gbps[SPEED_ADD], gbps[SPEED_READ],
	       gbps[SPEED_SCALE], gbps[SPEED_COPY]);
	fflush(stdout);
}

/* ---- codecs ---- */

static int measure_codec(struct speed *speed, const char *data, const char *isa, const char *spec)
{
	crumb_codec codec;
	char text[CRUMB_SPEC_MAX];
	double gbps[SPEED_KERNELS];
	if (program_spec(&codec, spec))
		return STATUS_FAILED;
	crumb_set_isa(isa);
	crumb_print(&codec, text, sizeof text);
	const int status = speed_codec(speed, &codec, gbps);
	if (!status)
		print_row(data, speed->n, crumb_isa(), text, true, gbps);
	return status;
}

/* ---- many frames ---- */

struct many_subject {
	struct gathered gathered;
	bool together;
};

static int64_t many_pack(void *self, const float *grad, bool safe)
{
	struct many_subject *many = self;
	(void)safe;
	return gathered_pack(&many->gathered, grad, CRUMB_KNOWN_FINITE);
}

static int64_t many_add(void *self, float *acc, size_t n)
{
	const struct many_subject *many = self;
	const crumb_span *frame = many->gathered.frame;
	float weight[MANY];
	int64_t result = 0;
	for (size_t f = 0; f < MANY; f++)
		weight[f] = 1.0f / MANY;
	if (many->together)
		return crumb_unpack_add_all(frame, weight, MANY, acc, n);
	for (size_t f = 0; f < MANY && result >= 0; f++)
		result = crumb_unpack_add(frame[f].data, frame[f].len, weight[f], acc, n);
	return result;
}

/* Measures unpacking eight frames of a codec in one call and in eight; the speed counts the elements of
 * all. */
static int measure_many(struct speed *speed, const char *data, const char *isa, const char *spec)
{
	crumb_codec codec;
	int status = program_spec(&codec, spec);
	crumb_set_isa(isa);
	for (int together = 0; together < 2 && !status; together++) {
		struct many_subject many = {.together = together};
		char what[CRUMB_SPEC_MAX];
		double gbps[SPEED_KERNELS];
		snprintf(what, sizeof what, "8 frames of %s %s", spec, together ? "together" : "one by one");
		status = gathered_open(&many.gathered, &codec, speed->n, 1);
		if (!status)
			status = speed_measure(
			        speed, &(struct speed_subject){many_pack, many_add, &many, MANY}, gbps);
		gbps[SPEED_UNPACK] *= MANY;
		if (!status)
			print_row(data, speed->n, crumb_isa(), what, false, gbps);
		gathered_close(&many.gathered);
	}
	return status;
}

/* ---- all codecs ---- */

static int measure_codecs(struct speed *speed, const char *data, const char *isa)
{
	const char *spec;
	int status = STATUS_OK;
	for (size_t i = 0; (spec = subject_spec(i)) && !status; i++)
		status = measure_codec(speed, data, isa, spec);
	for (size_t i = 0; i < sizeof divided / sizeof *divided && !status; i++)
		status = measure_many(speed, data, isa, divided[i]);
	return status;
}

/* ---- rules ---- */

struct rule_subject {
	const struct rule *rule;
	struct rule_state state;
};

static int64_t rule_pack(void *self, const float *grad, bool safe)
{
	struct rule_subject *subject = self;
	(void)safe;
	subject->rule->pack(&subject->state, grad);
	return 0;
}

static int64_t rule_add(void *self, float *acc, size_t n)
{
	struct rule_subject *subject = self;
	(void)n;
	subject->rule->add(&subject->state, 0.125f, acc);
	return 0;
}

static int measure_rules(struct speed *speed, const char *data)
{
	const size_t n = speed->n;
	double gbps[SPEED_KERNELS];
	int status = STATUS_OK;
	for (size_t i = 0; i < rules_count && !status; i++) {
		const size_t k = (size_t)(rules[i].share * (double)n);
		struct rule_subject subject = {&rules[i],
		                               {n, k ? k : 1, program_memory(n * sizeof(float)),
		                                program_memory(n * sizeof(uint32_t)),
		                                program_memory(n * sizeof(float))}};
		struct rule_state *s = &subject.state;
		if (s->residual && s->word && s->value) {
			memset(s->residual, 0, n * sizeof *s->residual);
			status = speed_measure(
			        speed, &(struct speed_subject){rule_pack, rule_add, &subject, 10}, gbps);
		} else {
			status = STATUS_FAILED;
		}
		if (!status)
			print_row(data, n, "plain", rules[i].name, false, gbps);
		free(s->residual);
		free(s->word);
		free(s->value);
	}
	return status;
}

/* ---- coders ---- */

/* Alphabets, and the ratio of each symbol's probability to the one before. */
static const struct source {
	unsigned count;
	double ratio;
} sources[] = {{16, 1}, {16, 0.9}, {16, 0.7}, {16, 0.6}, {8, 0.5}, {4, 0.5}, {16, 0.05}};

struct coder_subject {
	const struct isa_coder *coder;
	enum blocks_coder kind;
	struct block_code symbols;
	size_t n, size;
	uint8_t *codes, *coded;
};

static int64_t encode(void *self, const float *grad, bool safe)
{
	struct coder_subject *c = self;
	(void)grad, (void)safe;
	c->size = c->coder->encode(c->coded, c->codes, c->n, &c->symbols, c->kind);
	return 0;
}

static int64_t decode(void *self, float *acc, size_t n)
{
	const struct coder_subject *c = self;
	(void)acc;
	return c->coder->decode(c->coded, c->size, n, &c->symbols, c->kind, NULL, NULL) ? 0 : CRUMB_EFRAME;
}

/* A group of four-bit codes in the order of qsgd's (doc/FORMAT.md). */
static void put_group(uint8_t *codes, size_t group, const uint8_t symbol[16])
{
	uint8_t *const at = codes + 64 * (group / 8) + 16 * (group % 8 / 2);
	for (size_t k = 0; k < 16; k++)
		at[k] = (uint8_t)(group % 2 ? at[k] | symbol[k] << 4 : symbol[k]);
}

/* Draws codes. Returns the entropy of their distribution. */
static double draw(uint8_t *codes, size_t n, const struct source *source)
{
	double upto[BLOCKS_MOST], sum = 0, entropy = 0;
	uint64_t state = 1;
	for (unsigned j = 0; j < source->count; j++)
		upto[j] = sum += pow(source->ratio, j);
	for (unsigned j = 0; j < source->count; j++)
		entropy -= pow(source->ratio, j) / sum * log2(pow(source->ratio, j) / sum);
	for (size_t i = 0; i < n; i += 16) {
		uint8_t symbol[16] = {0};
		for (size_t k = 0; k < 16; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			const double u = (double)(state >> 11) * 0x1p-53 * sum;
			while (symbol[k] + 1u < source->count && u >= upto[symbol[k]])
				symbol[k]++;
		}
		put_group(codes, i / 16, symbol);
	}
	return entropy;
}

static int measure_coders(struct speed *speed)
{
	const size_t n = speed->n;
	struct coder_subject c = {.n = n, .symbols = isa_coders[0].levels(BLOCKS_MOST)};
	c.codes = program_memory(blocks_fixed(&c.symbols, n));
	c.coded = program_memory(blocks_bound(&c.symbols, n));
	int status = c.codes && c.coded ? STATUS_OK : STATUS_FAILED;
	for (size_t s = 0; s < sizeof sources / sizeof *sources && !status; s++) {
		char data[64];
		snprintf(data, sizeof data, "%u symbols of %.2f bits", sources[s].count,
		         draw(c.codes, n, &sources[s]));
		for (size_t i = 0; i < ISA_CODERS && !status; i++)
			for (c.kind = BLOCKS_ENTROPY; c.kind <= BLOCKS_HUFFMAN && !status; c.kind++) {
				double gbps[SPEED_KERNELS];
				c.coder = &isa_coders[i];
				if (crumb_set_isa(c.coder->isa))
					continue;
				c.symbols = c.coder->levels(BLOCKS_MOST);
				c.symbols.count = sources[s].count;
				status = speed_measure(speed, &(struct speed_subject){encode, decode, &c, 1},
				                       gbps);
				if (!status)
					print_row(data, n, c.coder->isa,
					          c.kind == BLOCKS_HUFFMAN ? "Huffman" : "rANS", false, gbps);
			}
	}
	free(c.codes);
	free(c.coded);
	return status;
}

/* ---- all ---- */

/* Measures everything on n elements, with fewer rounds where each takes longer. */
static int measure_size(size_t n, const char *data, const float *like)
{
	struct speed speed;
	int status = speed_open(&speed, n, like);
	speed.rounds = n <= 1 << 20 ? speed.rounds : n <= 1 << 24 ? 7 : 5;
	for (size_t i = 0; program_isa(i) && !status; i++)
		status = measure_codecs(&speed, data, program_isa(i));
	crumb_set_isa(NULL);
	if (!status)
		status = measure_rules(&speed, data);
	if (!status && n == 1 << 20)
		status = measure_coders(&speed);
	speed_close(&speed);
	return status;
}

static int measure_file(const char *path)
{
	struct npy npy = {.n = 0};
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	int status = npy_read(&npy, path, false);
	if (!status && (npy.dtype != CRUMB_F32 || !npy.n))
		status = program_fail("%s: not a gradient in f4", path);
	if (!status)
		status = measure_size(npy.n, name, npy.data);
	free(npy.file.data);
	return status;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {1 << 12, 1 << 14, 1 << 16, 1 << 20, 1 << 24, 1 << 26};
	int status = STATUS_OK;
	puts("cpu,data,n,isa,what,pack_gbps,pack_safe_gbps,unpack_gbps,floor_gbps,read_gbps,scale_gbps,"
	     "copy_gbps");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++)
		status = measure_size(sizes[i], "made up", NULL);
	for (int i = 1; i < argc && !status; i++)
		status = measure_file(argv[i]);
	return program_finish(status);
}
