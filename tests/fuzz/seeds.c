/* The first inputs of the fuzz targets, made from the codec table: seeds FOLDER writes FOLDER/TARGET/NUMBER,
 * and the words of the texts, as libFuzzer's dictionary, to standard output.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange.h"

static const char *folder;

/* The seed that is being written, and its bytes so far. */
static uint8_t input[1 << 16];
static size_t size;

static void append(const void *data, size_t length)
{
	if (length > sizeof input - size)
		abort();
	memcpy(input + size, data, length);
	size += length;
}

static void append_byte(size_t byte) { append(&(uint8_t){(uint8_t)byte}, 1); }

/* Writes the input as the target's next seed and begins another one. */
static void write_seed(const char *target)
{
	static unsigned number;
	char path[1024];
	snprintf(path, sizeof path, "%s/%s/%05u", folder, target, number++);
	FILE *file = fopen(path, "wb");
	const bool good = file && fwrite(input, 1, size, file) == size;
	if (!file || fclose(file) || !good) {
		perror(path);
		exit(1);
	}
	size = 0;
}

/* Appends a frame of n elements, as that learner would pack them; all learners agree on the same numbers. */
static void append_frame(const crumb_codec *codec, size_t n, uint64_t learner)
{
	float *g = malloc((n + 1) * sizeof *g);
	size_t length;
	case_fill(g, n, CASE_GAUSS, 1);
	crumb_packer *packer = case_packer(codec, n, learner);
	uint8_t *frame = case_pack(packer, g, CRUMB_F32, &length);
	append(frame, length);
	free(frame);
	free(packer);
	free(g);
}

static void texts(const crumb_codec *codec, size_t isa)
{
	char spec[CRUMB_SPEC_MAX], rules[2 * CRUMB_SPEC_MAX + 64];
	const int length = crumb_print(codec, spec, sizeof spec);
	append_byte(isa);
	append(spec, (size_t)length);
	write_seed("parse");
	append_byte(isa);
	append(spec, (size_t)length);
	write_seed("policy");
	snprintf(rules, sizeof rules, "%s,%s=%s;%s=%s", crumb_kind_name(isa % CRUMB_KINDS),
	         crumb_kind_name(CRUMB_KIND_LAST), spec, crumb_kind_name(CRUMB_FC), crumb_list(0)->name);
	append_byte(isa);
	append(rules, strlen(rules));
	write_seed("policy");
}

static void frames(const crumb_codec *codec, size_t isa, size_t n)
{
	append_byte(isa);
	append_byte(n);
	append_frame(codec, n, 1);
	write_seed("peek");
	append_byte(isa);
	append_frame(codec, n, 1);
	write_seed("unpack_add");
	append_byte(isa);
	append_byte(n % 2); /* cut */
	for (uint64_t learner = 1; learner <= 3; learner++) {
		append_frame(codec, n / learner, learner);
		append("CRM", n % 4);
	}
	write_seed("stream");
	append_byte(isa);
	for (uint64_t learner = 1; learner <= 1 + n % 3; learner++)
		append_frame(codec, n, learner);
	write_seed("sum");
}

static void gradients(const crumb_codec *codec, size_t isa, size_t n)
{
	char spec[CRUMB_SPEC_MAX];
	float g[64];
	uint8_t grad[sizeof g];
	for (int kind = 0; kind < CASE_KINDS; kind++) {
		const enum crumb_dtype dtype = (enum crumb_dtype)((isa + (size_t)kind) % 3);
		case_fill(g, n, (enum case_kind)kind, 1);
		case_convert(grad, dtype, g, n);
		append_byte(isa);
		append_byte((size_t)dtype + 3 * (isa % 3) + 9 * 15 * (size_t)(kind % 2));
		append(spec, (size_t)crumb_print(codec, spec, sizeof spec));
		append("\n", 1);
		append(grad, n * case_width(dtype));
		write_seed("pack");
	}
	crumb_packer *packer = case_packer(codec, n, 1);
	for (int step = 0; step < 2; step++) {
		size_t length;
		append_byte(isa);
		append(packer, crumb_packer_size(codec, n));
		write_seed("packer");
		free(case_pack(packer, g, CRUMB_F32, &length));
	}
	free(packer);
}

static void dictionary(void)
{
	const crumb_codec_info *info;
	for (size_t i = 0; (info = crumb_list(i)); i++) {
		printf("\"%s\"\n", info->name);
		for (size_t k = 0; k < info->keys; k++) {
			printf("\"%s=\"\n", info->key[k].name);
			for (size_t c = 0; info->key[k].choices && info->key[k].choices[c]; c++)
				printf("\"%s\"\n", info->key[k].choices[c]);
		}
	}
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		printf("\"%s\"\n", crumb_kind_name((enum crumb_kind)kind));
	printf("\"CRMB\"\n");
}

int main(int argc, char **argv)
{
	static const size_t length[] = {0, 1, 17, 50};
	crumb_codec codec[CASE_CODECS];
	if (argc != 2) {
		fprintf(stderr, "seeds FOLDER\n");
		return 2;
	}
	folder = argv[1];
	const size_t codecs = case_codecs(codec, CASE_CODECS);
	for (size_t c = 0; c < codecs; c++) {
		texts(&codec[c], c);
		for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
			frames(&codec[c], c, length[l]);
			gradients(&codec[c], c, length[l]);
		}
	}
	dictionary();
	return 0;
}
