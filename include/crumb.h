/* crumb: send less gradient.
 *
 * Three nouns. A *codec* says what to do; it is a small value parsed from text such as "adacomp:bin=500".
 * A *packer* remembers: the residual (what it has not sent yet), the seed and the step of one tensor of one
 * learner (a worker of data-parallel training).
 * A *frame* is what travels; it describes itself, so a decoder needs no configuration.
 *
 * Four verbs. crumb_parse, crumb_pack, crumb_unpack_add, crumb_peek. The rest is convenience. What threads
 * need to share one long frame is in crumb_parallel.h.
 *
 * Errors are negative values of enum crumb_error; a call that returns one has changed no packer and no
 * accumulator. A NULL argument is CRUMB_EINVAL where an error can be returned; functions that return a size,
 * a count or a pointer answer 0 or NULL.
 *
 * Every call computes in the default floating-point environment and leaves the caller's as it was, except
 * the flags of exceptions that have occurred (x86 and 64-bit ARM). A caller may trap exceptions, round
 * otherwise or flush subnormal numbers: the bytes are the same. On other machines the calling thread has to
 * round to nearest and to keep subnormal numbers.
 *
 * Frames may have any address, gradients and accumulators one that their elements may have, and packers one
 * that is a multiple of CRUMB_PACKER_ALIGN. Arguments do not overlap.
 *
 * The library allocates nothing, prints nothing, starts no thread and reads no environment. No call needs
 * more than CRUMB_STACK bytes of stack. Two threads may use two packers at once, or decode into two
 * accumulators; a packer belongs to one thread at a time. The only state is which instruction set to use, and
 * whether to prefetch on this CPU, looked up once.
 *
 * Little-endian hosts only. The frame format is doc/FORMAT.md; the algorithms are doc/CODECS.md.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CRUMB_H
#define CRUMB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRUMB_VERSION_MAJOR 0
#define CRUMB_VERSION_MINOR 1
#define CRUMB_VERSION_PATCH 0
#define CRUMB_VERSION       (10000 * CRUMB_VERSION_MAJOR + 100 * CRUMB_VERSION_MINOR + CRUMB_VERSION_PATCH)
#define CRUMB_FORMAT        1 /* version of the frames that this library writes and reads */
/* The sizes of structs follow from the next two, which change with the library's soname alone. */
#define CRUMB_MAX_KEYS     10           /* most keys of a codec */
#define CRUMB_MAX_FACTS    6            /* most facts of a frame */
#define CRUMB_MAX_FRAMES   256          /* most frames of one call */
#define CRUMB_SPEC_MAX     256          /* bytes that hold any canonical spec and its terminating zero */
#define CRUMB_HEADER_BYTES 32           /* a frame is a header and a payload */
#define CRUMB_PACKER_ALIGN 16           /* least alignment of a packer in bytes; 64 is fastest */
#define CRUMB_STACK        (128 * 1024) /* bytes of stack with which every call does */

#ifndef CRUMB_API
#if defined(_WIN32) && defined(CRUMB_EXPORTS)
#define CRUMB_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define CRUMB_API __attribute__((visibility("default")))
#else
#define CRUMB_API
#endif
#endif

enum crumb_error {
	CRUMB_EINVAL = -1,     /* an argument is out of range */
	CRUMB_ESPEC = -2,      /* the text names no codec, or a key or value it does not take */
	CRUMB_ESPACE = -3,     /* the destination is smaller than the bound */
	CRUMB_ENONFINITE = -4, /* a NaN, an infinity, or a magnitude above 2^120 */
	CRUMB_EFRAME = -5,     /* the bytes are not a frame, its payload is not well-formed, or it has more
	                          elements than this host takes (crumb_bound) */
	CRUMB_ESHORT = -6,     /* the frame is cut short */
	CRUMB_ECHECKSUM = -7,  /* the frame is damaged */
	CRUMB_EVERSION = -8,   /* the frame is of a format or a codec, or the packer of a format, that this
	                          library does not know */
	CRUMB_ELENGTH = -9,    /* the gradient or the frame is of another number of elements */
	CRUMB_EAGREE = -10,    /* the codec's learners have to agree first (crumb_measure, crumb_agree), or
	                          frames to be summed are not of one agreed scaler */
	CRUMB_EPACKER = -11,   /* the memory holds no packer, or a damaged one */
	CRUMB_EISA = -12,      /* no such instruction set here */
	CRUMB_EFLOAT = -13,    /* floats are not computed as the frame format asks (crumb_self_check) */
	CRUMB_EMEMORY = -64,   /* out of memory (crumb_exchange.h) */
	CRUMB_EPEER = -65      /* another rank has left, is silent, or cannot be reached (crumb_exchange.h) */
};

/* Returns what the error means, in a few words; never NULL. */
CRUMB_API const char *crumb_strerror(int error);

/* The type of a gradient's elements. Residuals and accumulators are always CRUMB_F32. */
enum crumb_dtype { CRUMB_F32 = 0, CRUMB_F16 = 1, CRUMB_BF16 = 2 };

/* ---- codec: what to do ---------------------------------------------------------------------- */

/* A value; copy it freely. value[k] belongs to key k of the codec's crumb_codec_info. */
typedef struct crumb_codec {
	uint32_t id;       /* which codec: crumb_codec_info.id, also in the frame's header */
	uint32_t reserved; /* 0 */
	float value[CRUMB_MAX_KEYS];
} crumb_codec;

/* Parses "NAME" or "NAME:KEY=VALUE,KEY=VALUE"; keys not named take their defaults. Does not obey the locale.
 * On CRUMB_ESPEC, *bad (bad may be NULL) points at the first offending character of spec; of a combination of
 * keys that the codec refuses, at one that it would accept at its default, or if there is none at the first.
 */
CRUMB_API int crumb_parse(crumb_codec *codec, const char *spec, const char **bad);

/* Writes the canonical spec, which names only what differs from the defaults, so that parsing it gives the
 * same codec. Returns the characters written without the terminating zero, or CRUMB_ESPACE, CRUMB_EINVAL.
 * CRUMB_SPEC_MAX is always enough. */
CRUMB_API int crumb_print(const crumb_codec *codec, char *dst, size_t cap);

/* A key of a codec. A combination of values that are each in range may be refused; crumb_parse says so. */
typedef struct crumb_key_info {
	const char *name;
	const char *brief;
	float default_value, min, max; /* min and max are in the range */
	float step;                    /* values are multiples of this; 0: any */
	/* Names of the values 0, 1, ..., with NULL at the end; NULL: the value is a number. With step 0 a
	 * value without a name may be a number from min to max. */
	const char *const *choices;
} crumb_key_info;

enum crumb_codec_flags {
	CRUMB_CODEC_RESIDUAL = 1, /* the packer keeps what was not sent */
	CRUMB_CODEC_RANDOM = 2,   /* at the default rounding the frame depends on the packer's seed and step;
	                             its expectation is the gradient, or the clipped one */
	CRUMB_CODEC_FIXED = 4,    /* at the default coding the length of a frame depends on n and run only */
	CRUMB_CODEC_AGREES = 8,   /* some settings want crumb_measure and crumb_agree */
	CRUMB_CODEC_MOMENTUM = 16 /* packers have momentum, and the optimizer then has none */
};

typedef struct crumb_codec_info {
	uint32_t id;
	uint32_t flags; /* enum crumb_codec_flags */
	const char *name;
	const char *brief;
	size_t keys; /* how many of key[] are used */
	crumb_key_info key[CRUMB_MAX_KEYS];
} crumb_codec_info;

/* Returns the i-th codec, in order of id; NULL past the last one. */
CRUMB_API const crumb_codec_info *crumb_list(size_t i);

/* Returns what crumb_list says of this codec; NULL if it is not valid. */
CRUMB_API const crumb_codec_info *crumb_codec_info_of(const crumb_codec *codec);

/* Returns 1 if with these settings learners have to agree before they pack (crumb_agree_count), else 0. */
CRUMB_API int crumb_agrees(const crumb_codec *codec);

/* ---- packer: who remembers ------------------------------------------------------------------ */

/* A flat, pointer-free block in the caller's memory, aligned to CRUMB_PACKER_ALIGN: a checkpoint is fwrite,
 * and a block that was read back is checked with crumb_packer_check. */
typedef struct crumb_packer crumb_packer;

/* Returns the bytes of a packer for n elements; 0 if the codec is not valid, or not for so many elements. */
CRUMB_API size_t crumb_packer_size(const crumb_codec *codec, size_t n);

/* Initialises the caller's crumb_packer_size() bytes: residual 0, step 0.
 * run: contiguous elements of one output unit (a column of 1-bit SGD); 0 when there is no such thing.
 * seed: of the random numbers of codecs that round at random; every learner and tensor should have its own,
 * or their errors do not cancel. Returns 0, or CRUMB_EINVAL if packer is NULL or crumb_packer_size is 0. */
CRUMB_API int crumb_packer_init(crumb_packer *packer, const crumb_codec *codec, size_t n, size_t run,
                                uint64_t seed);

/* Returns 0 if the size bytes are a packer that this library can go on with, else CRUMB_EPACKER or
 * CRUMB_EVERSION. */
CRUMB_API int crumb_packer_check(const crumb_packer *packer, size_t size);

/* Return the codec a packer was made with, its number of elements, and how many frames it has packed. */
CRUMB_API const crumb_codec *crumb_packer_codec(const crumb_packer *packer);
CRUMB_API size_t crumb_packer_count(const crumb_packer *packer);
CRUMB_API uint64_t crumb_packer_step(const crumb_packer *packer);

/* Returns the residual, n floats inside the packer; NULL if the codec keeps none. Where gradients stay larger
 * than what the codec sends, residuals grow. Before its steps 0, 32, 64... crumb_pack limits them to 2^120 in
 * magnitude, so that none overflows; before every step it multiplies them by the key decay. */
CRUMB_API float *crumb_packer_residual(crumb_packer *packer);

/* Returns the velocity, n floats inside the packer; NULL if there is no momentum or it is 0. crumb_pack sets
 * it to momentum * velocity + gradient, limited to 2^120 in magnitude, adds that to the residual in place of
 * the gradient, and sets it to 0 where the element is sent. A caller that multiplies the residual, because
 * the loss's scale has changed, multiplies the velocity, too. */
CRUMB_API float *crumb_packer_velocity(crumb_packer *packer);

/* Some settings want all learners to agree on a few numbers before they pack (TernGrad's shared scaler,
 * NeurIPS 2017 section 3.1), and some codecs always do (alq, amq). crumb_agree_count returns how many floats
 * are due before the next crumb_pack, 0 when none; crumb_measure writes this learner's to stat; crumb_agree
 * takes those of all learners, learner after learner, in the same order everywhere. A learner may measure
 * several gradients, the one that it packs after all others; all their floats are shared, and learners is
 * then the number of gradients. crumb_pack answers CRUMB_EAGREE while floats are due. crumb_measure and
 * crumb_agree return 0, or CRUMB_EINVAL if no floats are due, or CRUMB_ENONFINITE; crumb_measure also
 * CRUMB_ELENGTH, crumb_agree CRUMB_EINVAL before crumb_measure. An error changes nothing. */
CRUMB_API size_t crumb_agree_count(const crumb_packer *packer);
CRUMB_API int crumb_measure(crumb_packer *packer, const void *grad, size_t n, enum crumb_dtype dtype,
                            float *stat);
CRUMB_API int crumb_agree(crumb_packer *packer, const float *stat, size_t learners);

/* ---- frame: what travels -------------------------------------------------------------------- */

/* Returns the bytes that crumb_pack wants at dst for n elements. No frame is longer; some codecs never need
 * as many, and use the rest while they pack. 0 if the codec is not valid, or not for so many elements: no
 * codec is for 2^48 or more, nor on 32-bit hosts for 2^26 or more. */
CRUMB_API size_t crumb_bound(const crumb_codec *codec, size_t n);

enum crumb_pack_flags { CRUMB_KNOWN_FINITE = 1 }; /* crumb_finite has said so */

/* Packs the gradient (n elements of dtype; CRUMB_ELENGTH if the packer is of another n) into dst (cap >=
 * crumb_bound bytes), updates the residual and the step, and returns the length of the frame. An error
 * (CRUMB_ESPACE, CRUMB_ENONFINITE, CRUMB_EAGREE, CRUMB_EPACKER) leaves the packer as it was; the bytes at dst
 * are then undefined. */
CRUMB_API int64_t crumb_pack(crumb_packer *packer, const void *grad, size_t n, enum crumb_dtype dtype,
                             unsigned flags, void *dst, size_t cap);

/* acc[i] += weight * decoded[i]: plain decoding is this on zeros, averaging N learners is N calls with 1/N.
 * src: a frame and whatever follows it, len bytes in all. weight: finite, else CRUMB_EINVAL; a frame of
 * another n is CRUMB_ELENGTH. Checks the whole frame before it touches acc. Returns its length. */
CRUMB_API int64_t crumb_unpack_add(const void *src, size_t len, float weight, float *acc, size_t n);

typedef struct crumb_span {
	const void *data;
	size_t len;
} crumb_span;

/* Adds up to CRUMB_MAX_FRAMES frames, frame f with weight[f]. acc then holds, to the bit, what
 * crumb_unpack_add on one after another would leave; where codes have fixed width it is read and written
 * only once. A span is exactly one frame. Checks all frames before it touches acc. Returns 0 or an error. */
CRUMB_API int crumb_unpack_add_all(const crumb_span *frames, const float *weight, size_t count, float *acc,
                                   size_t n);

/* Returns the length of the frame whose header is at src, from the header alone: the payload may be missing
 * or damaged, and the codec unknown. crumb_frame_count returns its number of elements. CRUMB_ESHORT if the
 * bytes may be the beginning of a header. A few bytes may stand for many elements: of a frame from others
 * look at crumb_frame_count before crumb_peek and crumb_check, whose time grows with the number. */
CRUMB_API int64_t crumb_frame_length(const void *src, size_t len);
CRUMB_API int64_t crumb_frame_count(const void *src, size_t len);

typedef struct crumb_frame_info {
	crumb_codec codec; /* id, and the keys that the frame carries; others, and those out of a key's range,
	                      at their defaults */
	uint64_t n;        /* elements */
	uint64_t bytes;    /* of the whole frame */
	uint64_t sent; /* elements that decode to something other than zero by their code; of raw, half, sign
	                  and onebit all */
	size_t facts;  /* how many of fact[] are used */
	struct {
		const char *name; /* such as "threshold" or "scale" */
		double value;
	} fact[CRUMB_MAX_FACTS]; /* what the frame carries for its decoder */
} crumb_frame_info;

/* Checks a frame as crumb_unpack_add does, and describes it. Returns its length. */
CRUMB_API int64_t crumb_peek(crumb_frame_info *frame, const void *src, size_t len);

/* Sums frames of one agreed scaler (terngrad:shared=1) without decoding them: the result is one frame of
 * exact integers, ceil(log2(2 count + 1)) bits an element, that decodes to the sum. count is from 1 to
 * CRUMB_MAX_FRAMES; a span is exactly one frame, and no sum itself. cap >= crumb_sum_bound(count, n), which
 * is 0 for another count. Returns the length of the frame; CRUMB_EAGREE: the frames are of another codec, or
 * of several scalers. */
CRUMB_API int64_t crumb_sum(const crumb_span *frames, size_t count, void *dst, size_t cap);
CRUMB_API size_t crumb_sum_bound(size_t count, size_t n);

/* Returns 0, or CRUMB_ENONFINITE if crumb_pack would refuse the gradient; so that learners can vote before
 * they pack. */
CRUMB_API int crumb_finite(const void *grad, size_t n, enum crumb_dtype dtype);

/* ---- library -------------------------------------------------------------------------------- */

CRUMB_API const char *crumb_version(void);

/* The instruction set in use: "portable", "sse2", "avx2", "avx512" or "neon"; chosen at first use. All write
 * the same bytes. crumb_set_isa takes one of these names, or NULL for the best one; it is meant for tests and
 * benchmarks. Any thread may call it at any time; a call in another thread may then use either set. It
 * returns 0, or CRUMB_EISA and changes nothing. */
CRUMB_API const char *crumb_isa(void);
CRUMB_API int crumb_set_isa(const char *name);

/* Packs a few elements, in a fraction of a millisecond, with the instruction set in use. Returns 0 if the
 * bytes are those of the frame format, else CRUMB_EFLOAT: the library was compiled with options that
 * reorder or contract arithmetic or ignore NaN. A program calls it once, at its start. */
CRUMB_API int crumb_self_check(void);

#ifdef __cplusplus
}
#endif

#endif
