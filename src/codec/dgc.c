/* dgc: deep gradient compression (Lin et al., ICLR 2018), with the momentum that the optimizer would have.
 *
 * A velocity, u = momentum * u + g, is what the residual v gathers (momentum correction, section 3.2), so
 * that an element that waits for k steps has moved by then as far as with dense momentum. Of v the elements
 * of the greatest magnitudes are sent, exactly; where one is sent, its velocity becomes 0, too, since it says
 * where the weight should have gone some steps before (momentum factor masking, section 3.3).
 *
 * SPDX-License-Identifier: MIT */
#include "codec/codec.h"
#include "coding/golomb.h"
#include "select/top.h"

enum { MOMENTUM, FRACTION, WARMUP }; /* the keys */

/* The velocity's limit is a gradient's, so that the residual grows as with other codecs. */
#define LIMIT 0x1p120f

/* The share that is sent begins with WARMUP_SHARE and is a quarter of that before in each further one of
 * WARMUP_STAGES equally long stages, but never less than the fraction (section 3.3: 75 %, 93.75 %, 98.4 %,
 * 99.6 %, and then 99.9 % are not sent). */
enum { WARMUP_STAGES = 4 };
#define WARMUP_SHARE 0.25

static size_t kept(double share, size_t n)
{
	const size_t k = (size_t)(share * (double)n);
	return k ? k : 1;
}

static double share_at(const crumb_codec *codec, uint64_t step)
{
	const double fraction = (double)codec->value[FRACTION];
	const uint64_t warmup = (uint64_t)codec->value[WARMUP];
	if (step >= warmup)
		return fraction;
	double share = WARMUP_SHARE;
	for (uint64_t stage = step * WARMUP_STAGES / warmup; stage > 0; stage--)
		share /= 4;
	return share > fraction ? share : fraction;
}

static bool moves(const crumb_codec *codec) { return codec->value[MOMENTUM] > 0; }
static size_t floats(const crumb_codec *codec, size_t n) { return moves(codec) ? 2 * n : n; }

static size_t room(size_t n, size_t most) { return crumb_golomb_codes_room(n, most, GOLOMB_EXACT); }

/* The payload, and after its room the list of elements and values. */
static size_t bound(const crumb_codec *codec, size_t n)
{
	const size_t most = kept(share_at(codec, 0), n);
	return n <= UINT32_MAX ? room(n, most) + 8 * most : 0;
}

/* u = momentum * u + grad. */
V16_FN void move_type(float *u, const void *grad, const enum crumb_dtype type, size_t n, float momentum)
{
	const v16f m = v16_set(momentum), most = v16_set(LIMIT), least = v16_set(-LIMIT);
	size_t i = 0;
	for (; i + V16 <= n; i += V16) {
		const v16f x = v16_add(v16_mul(v16_streamf(u + i), m), v16_stream(type, grad, i));
		v16_storef(u + i, v16_min(v16_max(x, least), most));
	}
	if (i < n) {
		const v16f x = v16_add(v16_mul(v16_loadf_partial(u + i, n - i), m),
		                       v16_load_partial(type, grad, i, n - i));
		v16_storef_partial(u + i, v16_min(v16_max(x, least), most), n - i);
	}
}

static size_t pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                   struct packed *out)
{
	(void)out;
	const size_t n = p->n, most = kept(share_at(&p->codec, 0), n);
	float *const v = packer_floats(p), *const u = v + n;
	uint8_t *const list = dst + room(n, most);
	const size_t k = kept(share_at(&p->codec, p->step), n);
	size_t count;
	if (moves(&p->codec)) {
#define MOVE(TYPE) move_type(u, grad, TYPE, n, p->codec.value[MOMENTUM])
		V16_BY_TYPE(type, MOVE);
		count = top_take(v, u, CRUMB_F32, n, k, list);
		for (size_t j = 0; j < count; j++)
			u[get_u32(list + 4 * j)] = 0;
	} else {
		count = top_take(v, grad, type, n, k, list);
	}
	return crumb_golomb_of_codes(dst, list, list + 4 * count, GOLOMB_EXACT, n, count);
}

/* ---- frames --------------------------------------------------------------------------------- */

static struct golomb_values values_of(const struct frame *frame)
{
	return (struct golomb_values){frame->payload, frame->size, frame->n, GOLOMB_EXACT};
}

static bool check(const struct frame *frame, struct part *part)
{
	const struct golomb_values values = values_of(frame);
	return !frame->flags && frame->n <= UINT32_MAX && frame->size &&
	       (!part_leads(part, frame) || crumb_golomb_check_values(&values));
}

static void unpack_add(const struct frame *frame, float weight, float *acc, size_t first, size_t end)
{
	const struct golomb_values values = values_of(frame);
	crumb_golomb_add_values(&values, NULL, weight, acc, first, end);
}

static void describe(const struct frame *frame, crumb_frame_info *out)
{
	const struct golomb_values values = values_of(frame);
	out->sent = crumb_golomb_sent_values(&values, NULL);
}

CODEC_INFO(dgc, .id = 20, .flags = CRUMB_CODEC_RESIDUAL | CRUMB_CODEC_MOMENTUM, .name = "dgc",
           .brief = "the greatest elements of what momentum has gathered (Lin et al. 2018)", .keys = 4,
           .key = {{"momentum", "of the packer; the optimizer then has none", 0.9f, 0, 1 - 0x1p-7f, 0, NULL},
                   {"fraction", "share of the elements to send", 0.001f, 1e-6f, 0.25f, 0, NULL},
                   {"warmup", "steps in which that share falls from a quarter to the fraction", 0, 0, 1e6f, 1,
                    NULL},
                   DECAY_KEY});

const struct codec PER_ISA(dgc) = {
        .info = &crumb_info_dgc,
        .variable_width = ALL_FRAMES,
        .floats = floats,
        .bound = bound,
        .pack = pack,
        .check = check,
        .unpack_add = unpack_add,
        .describe = describe,
};
