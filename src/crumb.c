/* The API: checks everything once, then hands over to the codec.
 *
 * SPDX-License-Identifier: MIT */
#include "crumb_parallel.h"
#include "base/float_env.h"
#include "codec/codec.h"
#include "isa.h"
#include "frame.h"
#include <math.h>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

const char *crumb_version(void)
{
	return STRING(CRUMB_VERSION_MAJOR) "." STRING(CRUMB_VERSION_MINOR) "." STRING(CRUMB_VERSION_PATCH);
}

const char *crumb_strerror(int error)
{
	switch (error) {
	case CRUMB_EINVAL:
		return "invalid argument";
	case CRUMB_ESPEC:
		return "no such codec or key, or a value that is out of range or does not go with the others";
	case CRUMB_ESPACE:
		return "the destination is smaller than the bound";
	case CRUMB_ENONFINITE:
		return "a NaN, an infinity, or a magnitude above 2^120";
	case CRUMB_EFRAME:
		return "not a frame, or its payload is not well-formed";
	case CRUMB_ESHORT:
		return "the frame is cut short";
	case CRUMB_ECHECKSUM:
		return "the frame is damaged: its checksum does not match";
	case CRUMB_EVERSION:
		return "of a format or a codec that this version does not know";
	case CRUMB_ELENGTH:
		return "the gradient or the frame is of another number of elements";
	case CRUMB_EAGREE:
		return "the learners have not agreed on what this codec shares";
	case CRUMB_EPACKER:
		return "not a packer, or a damaged one";
	case CRUMB_EISA:
		return "no such instruction set on this machine";
	case CRUMB_EFLOAT:
		return "arithmetic is not that of the frame format: compiler options change it";
	case CRUMB_EMEMORY:
		return "out of memory";
	case CRUMB_EPEER:
		return "another rank has left, is silent, or cannot be reached";
	default:
		return error < 0 ? "unknown error" : "no error";
	}
}

static bool known(enum crumb_dtype dtype)
{
	return dtype == CRUMB_F32 || dtype == CRUMB_F16 || dtype == CRUMB_BF16;
}

int crumb_finite(const void *grad, size_t n, enum crumb_dtype dtype)
{
	DEFAULT_FLOATS;
	if ((!grad && n) || !known(dtype))
		return CRUMB_EINVAL;
	return crumb_isa_now()->finite(grad, n, dtype) ? 0 : CRUMB_ENONFINITE;
}

/* ---- agreement ------------------------------------------------------------------------------ */

size_t crumb_agree_count(const crumb_packer *packer)
{
	DEFAULT_FLOATS;
	const struct codec *c = packer ? crumb_codec_find(packer->codec.id) : NULL;
	return c && c->agreement && !packer->agreed && packer->n ? c->agreement->count(packer) : 0;
}

int crumb_agrees(const crumb_codec *codec)
{
	DEFAULT_FLOATS;
	const struct codec *c = crumb_codec_valid(codec);
	return c && c->agreement && c->agreement->count(&(struct crumb_packer){.codec = *codec, .n = 1}) > 0;
}

int crumb_measure(crumb_packer *packer, const void *grad, size_t n, enum crumb_dtype dtype, float *stat)
{
	DEFAULT_FLOATS;
	if (!packer || !stat || !known(dtype) || !crumb_agree_count(packer))
		return CRUMB_EINVAL;
	if (n != packer->n)
		return CRUMB_ELENGTH;
	const int error = crumb_finite(grad, n, dtype);
	if (error)
		return error;
	crumb_codec_find(packer->codec.id)->agreement->measure(packer, grad, dtype, stat);
	packer->measured = 1;
	return 0;
}

int crumb_agree(crumb_packer *packer, const float *stat, size_t learners)
{
	DEFAULT_FLOATS;
	if (!packer || !stat || !learners || !packer->measured)
		return CRUMB_EINVAL;
	const size_t count = crumb_agree_count(packer);
	if (!count)
		return CRUMB_EINVAL;
	const int error = crumb_finite(stat, count * learners, CRUMB_F32);
	if (error)
		return error;
	crumb_codec_find(packer->codec.id)->agreement->agree(packer, stat, learners);
	packer->agreed = 1;
	return 0;
}

/* ---- pack ----------------------------------------------------------------------------------- */

size_t crumb_bound(const crumb_codec *codec, size_t n)
{
	DEFAULT_FLOATS;
	const struct codec *c = crumb_codec_valid(codec);
	if (!c || too_many(n))
		return 0;
	const size_t most = n ? c->bound(codec, n) : 0;
	return n && !most ? 0 : CRUMB_HEADER_BYTES + most;
}

/* A residual grows for as long as gradients are larger than what the codec sends of them. It is limited
 * before it could overflow. It is not looked at in every step, since that is a pass over memory. */
static void limit_residual(float *r, size_t n)
{
	if (crumb_isa_now()->finite(r, n, CRUMB_F32))
		return;
	for (size_t i = 0; i < n; i++)
		r[i] = r[i] > 0x1p120f ? 0x1p120f : r[i] < -0x1p120f ? -0x1p120f : r[i];
}

/* Limits the residual, if it is time to, and multiplies it by the codec's decay. */
static void age_residual(crumb_packer *packer, const crumb_codec_info *info)
{
	float *const r = crumb_packer_residual(packer);
	const size_t n = (size_t)packer->n;
	if (!r)
		return;
	if (packer->step % RESIDUAL_STEPS == 0)
		limit_residual(r, n);
	const float decay = packer->codec.value[info->keys - 1];
	for (size_t i = 0; i < n && decay != 1; i++)
		r[i] *= decay;
}

int64_t crumb_pack(crumb_packer *packer, const void *grad, size_t n, enum crumb_dtype dtype, unsigned flags,
                   void *dst, size_t cap)
{
	DEFAULT_FLOATS;
	if (!packer || !dst || !known(dtype) || flags & ~(unsigned)CRUMB_KNOWN_FINITE || (!grad && n))
		return CRUMB_EINVAL;
	if (n != packer->n)
		return CRUMB_ELENGTH;
	const struct codec *c = crumb_codec_find(packer->codec.id);
	if (!c)
		return CRUMB_EPACKER;
	const size_t most = crumb_bound(&packer->codec, n);
	if (!most)
		return CRUMB_EPACKER;
	if (cap < most)
		return CRUMB_ESPACE;
	if (crumb_agree_count(packer))
		return CRUMB_EAGREE;
	const bool check = !(flags & CRUMB_KNOWN_FINITE);
	if (check && !c->checks_itself && !crumb_isa_now()->finite(grad, n, dtype))
		return CRUMB_ENONFINITE;

	age_residual(packer, c->info);
	uint8_t *const payload = (uint8_t *)dst + CRUMB_HEADER_BYTES;
	struct packed out = {.check = check, .summed = payload};
	const size_t size = n ? c->pack(packer, grad, dtype, payload, &out) : 0;
	if (size == UNUSABLE)
		return CRUMB_ENONFINITE;
	packer->step++;
	packer->agreed = packer->measured = 0;
	const size_t rest = size - (size_t)(out.summed - payload);
	const uint32_t sum = crumb_isa_now()->checksum(out.sum, out.summed, rest);
	return crumb_frame_seal_summed(dst, c->info->id, out.flags, n, size, sum);
}

/* ---- unpack --------------------------------------------------------------------------------- */

/* Adds elements [first, end) of count frames; a codec that adds several at once gets consecutive ones. */
static void add_runs(const struct frame *frame, const float *weight, size_t count, float *acc, size_t first,
                     size_t end)
{
	for (size_t f = 0, run; f < count; f += run) {
		const struct codec *const codec = crumb_codec_find(frame[f].id);
		for (run = 1; codec->unpack_add_many && f + run < count && frame[f + run].id == frame[f].id;)
			run++;
		if (run > 1)
			codec->unpack_add_many(frame + f, weight + f, run, acc, first, end);
		else
			codec->unpack_add(frame + f, weight[f], acc, first, end);
	}
}

/* Adds elements [first, end) of count frames. Consecutive frames with codes of fixed width are added chunk by
 * chunk, so that a chunk of acc stays in L2 from one frame to the next. */
static void add_all(const struct frame *frame, const float *weight, size_t count, float *acc, size_t first,
                    size_t end)
{
	enum { CHUNK = 24 * CRUMB_RANGE_STEP };
	for (size_t done = 0, next; done < count; done = next) {
		for (next = done; next < count; next++) {
			const int variable = crumb_codec_find(frame[next].id)->variable_width;
			if (variable == ALL_FRAMES || frame[next].flags & variable)
				break;
		}
		const size_t chunk = next - done > 1 ? CHUNK : end - first;
		next += next == done;
		for (size_t i = first, last; i < end; i = last) {
			last = end - i < chunk ? end : i + chunk;
			add_runs(frame + done, weight + done, next - done, acc, i, last);
		}
	}
}

static crumb_checked checked_of(const struct frame *frame)
{
	return (crumb_checked){frame->payload, frame->size, frame->n, frame->id, frame->flags};
}

int64_t crumb_check(crumb_checked *out, const void *src, size_t len)
{
	DEFAULT_FLOATS;
	if (!out)
		return CRUMB_EINVAL;
	struct frame frame;
	const int64_t length = crumb_frame_open(&frame, src, len);
	if (length >= 0)
		*out = checked_of(&frame);
	return length;
}

int crumb_check_part(crumb_part *found, const void *src, size_t len, size_t i, size_t parts)
{
	DEFAULT_FLOATS;
	if (!found || parts > CRUMB_MAX_PARTS || i >= parts)
		return CRUMB_EINVAL;
	return crumb_frame_check_part(found, src, len, i, parts);
}

int64_t crumb_check_join(crumb_checked *out, const void *src, size_t len, const crumb_part *found,
                         size_t parts)
{
	if (!out || !found || !parts || parts > CRUMB_MAX_PARTS)
		return CRUMB_EINVAL;
	struct frame frame;
	const int64_t length = crumb_frame_check_join(&frame, src, len, found, parts);
	if (length >= 0)
		*out = checked_of(&frame);
	return length;
}

int crumb_add_range(const crumb_checked *frames, const float *weight, size_t count, float *acc, size_t n,
                    size_t first, size_t end)
{
	DEFAULT_FLOATS;
	if (!frames || !weight || (!acc && n) || count > CRUMB_MAX_FRAMES || first > end || end > n ||
	    (first % CRUMB_RANGE_STEP && first < n) || (end % CRUMB_RANGE_STEP && end < n))
		return CRUMB_EINVAL;
	struct frame open[CRUMB_MAX_FRAMES];
	for (size_t f = 0; f < count; f++) {
		const crumb_checked *c = &frames[f];
		if (!isfinite(weight[f]) || !c->payload || !crumb_codec_find(c->id))
			return CRUMB_EINVAL;
		if (c->n != n)
			return CRUMB_ELENGTH;
		open[f] = (struct frame){c->id, (uint16_t)c->flags, c->n, c->size, c->payload};
	}
	if (first < end)
		add_all(open, weight, count, acc, first, end);
	return 0;
}

/* crumb_check of a frame of n elements; of another number it is refused before its payload takes time. */
static int64_t check_counted(crumb_checked *out, const void *src, size_t len, size_t n)
{
	const int64_t count = crumb_frame_count(src, len);
	return count < 0 ? count : (uint64_t)count != n ? CRUMB_ELENGTH : crumb_check(out, src, len);
}

int64_t crumb_unpack_add(const void *src, size_t len, float weight, float *acc, size_t n)
{
	crumb_checked frame;
	const int64_t length = check_counted(&frame, src, len, n);
	if (length < 0)
		return length;
	const int error = crumb_add_range(&frame, &weight, 1, acc, n, 0, n);
	return error ? error : length;
}

int crumb_unpack_add_all(const crumb_span *frames, const float *weight, size_t count, float *acc, size_t n)
{
	if (!frames || count > CRUMB_MAX_FRAMES)
		return CRUMB_EINVAL;
	crumb_checked checked[CRUMB_MAX_FRAMES];
	for (size_t f = 0; f < count; f++) {
		const int64_t length = check_counted(&checked[f], frames[f].data, frames[f].len, n);
		if (length < 0)
			return (int)length;
		if ((uint64_t)length != frames[f].len)
			return CRUMB_EFRAME;
	}
	return crumb_add_range(checked, weight, count, acc, n, 0, n);
}

int64_t crumb_peek(crumb_frame_info *out, const void *src, size_t len)
{
	DEFAULT_FLOATS;
	if (!out)
		return CRUMB_EINVAL;
	struct frame frame;
	const int64_t length = crumb_frame_open(&frame, src, len);
	if (length < 0)
		return length;
	const struct codec *c = crumb_codec_find(frame.id);
	*out = (crumb_frame_info){.codec = {.id = frame.id}, .n = frame.n, .bytes = (uint64_t)length};
	for (size_t k = 0; k < c->info->keys; k++)
		out->codec.value[k] = c->info->key[k].default_value;
	if (frame.n)
		c->describe(&frame, out);
	crumb_codec_mend(&out->codec);
	return length;
}

/* ---- sum ------------------------------------------------------------------------------------ */

size_t crumb_sum_bound(size_t count, size_t n)
{
	if (!count || count > CRUMB_MAX_FRAMES || too_many(n))
		return 0;
	size_t most = 0;
	const struct codec *const *codecs = crumb_isa_now()->codecs;
	for (size_t i = 0; codecs[i] && n; i++) {
		const size_t size = codecs[i]->summing ? codecs[i]->summing->bound(count, n) : 0;
		most = size > most ? size : most;
	}
	return CRUMB_HEADER_BYTES + most;
}

int64_t crumb_sum(const crumb_span *frames, size_t count, void *dst, size_t cap)
{
	DEFAULT_FLOATS;
	if (!frames || !dst || !count || count > CRUMB_MAX_FRAMES)
		return CRUMB_EINVAL;
	struct frame open[CRUMB_MAX_FRAMES];
	const int64_t n = crumb_frame_count(frames[0].data, frames[0].len);
	if (n < 0)
		return n;
	if (cap < crumb_sum_bound(count, (size_t)n)) /* before payloads take time */
		return CRUMB_ESPACE;
	for (size_t i = 0; i < count; i++) {
		const int64_t its = crumb_frame_count(frames[i].data, frames[i].len);
		if (its != n)
			return its < 0 ? its : CRUMB_ELENGTH;
		const int64_t length = crumb_frame_open(&open[i], frames[i].data, frames[i].len);
		if (length < 0)
			return length;
		if ((uint64_t)length != frames[i].len)
			return CRUMB_EFRAME;
		if (open[i].id != open[0].id)
			return CRUMB_EAGREE;
	}
	const struct codec *c = crumb_codec_find(open[0].id);
	if (!c->summing)
		return CRUMB_EAGREE;
	uint16_t flags = 0;
	const int64_t size =
	        n ? c->summing->sum(open, count, (uint8_t *)dst + CRUMB_HEADER_BYTES, &flags) : 0;
	return size < 0 ? size : crumb_frame_seal(dst, c->info->id, flags, (uint64_t)n, (size_t)size);
}
