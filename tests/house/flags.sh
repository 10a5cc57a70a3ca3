# Compiler options that change arithmetic are refused: by the compiler where a macro tells, else by crumb_self_check,
# unless the frames stay the same. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

compile() { "$CC" -w -I"$SOURCE/include" -I"$SOURCE/src" "$@"; }

# stopped TEXT OPTION...: one file does not compile with the options, and the message says so.
stopped() {
	text=$1
	shift
	compile "$@" -fsyntax-only "$SOURCE/src/isa.c" >stdout 2>stderr
	holds "$*: does not compile" test $? != 0
	holds "$*: $text" grep -qF -e "$text" stderr
}

stopped 'without -ffast-math' -ffast-math
stopped 'without -ffast-math' -O2 -Ofast
stopped 'without -ffast-math' -ffinite-math-only
case $CC in
*clang*) ;;
*)
	stopped 'without -ffast-math' -fassociative-math -fno-signed-zeros -fno-trapping-math
	stopped 'without -ffast-math' -freciprocal-math
	stopped 'without -fsingle-precision-constant' -fsingle-precision-constant
	;;
esac
if [ "$(uname -m)" = x86_64 ]; then
	case $CC in
	*clang*) ;;
	*) stopped 'with -msse2 -mfpmath=sse' -mfpmath=387 ;;
	esac
	echo '#include "base/arithmetic.h"' >one.c # the headers of the 32-bit C library need not be there
	compile -m32 -mno-sse -fsyntax-only one.c >stdout 2>stderr
	holds "-m32 is told" grep -qF -e 'with -msse2 -mfpmath=sse' stderr
	check "-m32 -msse2 -mfpmath=sse" compile -m32 -msse2 -mfpmath=sse -fsyntax-only one.c
fi

# Frames of every codec, as a hash, and what the self-check answers; NaN is refused, or the self-check tells.
cat >frames.c <<'END_OF_C'
#include <crumb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 4500 };
static float g[N], sum[N];
static uint64_t hash = 1;
static void mix(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
}
int main(void)
{
	uint32_t random = 1;
	for (size_t i = 0; i < N; i++) {
		random = random * 1664525 + 1013904223;
		const uint32_t exponent = 112 + (random >> 4) % 14;
		const uint32_t bits = (random & 0x80000000) | exponent << 23 | (random >> 8 & 0x7FFFFF);
		memcpy(&g[i], &bits, sizeof bits);
	}
	for (size_t c = 0; crumb_list(c); c++) {
		crumb_codec codec;
		crumb_parse(&codec, crumb_list(c)->name, NULL);
		const size_t size = crumb_packer_size(&codec, N), cap = crumb_bound(&codec, N);
		crumb_packer *p = aligned_alloc(64, (size + 63) / 64 * 64);
		unsigned char *frame = malloc(cap);
		crumb_packer_init(p, &codec, N, 100, 1);
		for (int step = 0; step < 2; step++) {
			const size_t due = crumb_agree_count(p);
			float *shared = malloc((due + 1) * sizeof *shared);
			if (due && (crumb_measure(p, g, N, CRUMB_F32, shared) || crumb_agree(p, shared, 1)))
				return 2;
			free(shared);
			const int64_t length = crumb_pack(p, g, N, CRUMB_F32, 0, frame, cap);
			if (length > 0)
				mix(frame, (size_t)length);
			const int64_t taken = crumb_unpack_add(frame, (size_t)length, 0.3f, sum, N);
			mix(&taken, sizeof taken);
		}
		const uint32_t nan = 0x7FC00000;
		const float kept = g[7];
		memcpy(&g[7], &nan, sizeof nan);
		const int64_t refused = crumb_pack(p, g, N, CRUMB_F32, 0, frame, cap);
		g[7] = kept;
		mix(&refused, sizeof refused);
		mix(p, size);
		mix(sum, sizeof sum);
		free(frame);
		free(p);
	}
	printf("%d %llx\n", crumb_self_check(), (unsigned long long)hash);
	return 0;
}
END_OF_C
build() { compile "$@" "$SOURCE"/src/*.c "$SOURCE"/src/*/*.c frames.c -o frames -lm; }

check "the library as it is built" "$CC" -w -I"$SOURCE/include" frames.c "$STATIC" -o frames -lm
check "it runs" ./frames
read -r answer right <stdout
holds "the self-check is content: $answer" test "$answer" = 0

# told OPTION...: with the options the frames are the same, or the self-check answers CRUMB_EFLOAT.
told() {
	check "$*" build "$@"
	check "$*: it runs" ./frames
	read -r answer found <stdout
	holds "$*: the frames differ, and the self-check answers $answer" \
		test "$answer $found" = "0 $right" -o "$answer" = -13
}
told -O2 -ffp-contract=fast -march=native
case $CC in
*clang*)
	told -O2 -fassociative-math -fno-signed-zeros -fno-trapping-math
	told -O2 -freciprocal-math
	told -O2 -fno-honor-nans -fno-signed-zeros
	;;
esac
finish
