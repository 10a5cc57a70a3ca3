# The library's sources alone, without its build, are a portable libcrumb. SPDX-License-Identifier: MIT
. "$SOURCE/tests/cli/check.sh"

cat >smoke.c <<'END'
#include <crumb.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	static const float grad[5] = {0.5f, -0.5f, 0.25f, 1, 0};
	float sum[5] = {0};
	unsigned char frame[256];
	crumb_codec codec;
	crumb_packer *packer;
	if (strcmp(crumb_isa(), "portable") || crumb_parse(&codec, "twobit", 0) ||
	    crumb_bound(&codec, 5) > sizeof frame)
		return 1;
	packer = aligned_alloc(64, (crumb_packer_size(&codec, 5) + 63) / 64 * 64);
	if (!packer || crumb_packer_init(packer, &codec, 5, 0, 1))
		return 2;
	const int64_t length = crumb_pack(packer, grad, 5, CRUMB_F32, 0, frame, sizeof frame);
	if (length < 0 || crumb_unpack_add(frame, (size_t)length, 1, sum, 5) != length)
		return 3;
	free(packer);
	return sum[0] == 0.5f && sum[1] == -0.5f && sum[2] == 0 && sum[3] == 0.5f && sum[4] == 0 ? 0 : 4;
}
END
# embedded WHAT FLAG...: builds as README.md says, with FLAGs, and runs it.
embedded() {
	what=$1
	shift
	check "$what" "$CC" "$@" -I"$SOURCE/include" -I"$SOURCE/src" \
		"$SOURCE"/src/*.c "$SOURCE"/src/*/*.c smoke.c -o smoke -lm
	check "$what works" ./smoke
}
ln -s "$SOURCE/include" "$SOURCE/src" "$SOURCE/examples" .
sed -n '/^```console$/,/^```$/p' "$SOURCE/README.md" | sed '/^```/d' >session
sed -n 's/^\$ //p' session | sed 's/^cc /$CC /' >commands
sed '/^\$ /d' session >expected
check "README.md's lines for C" env CC="$CC" sh commands
holds "and their output" test -s expected
holds "is what it says" cmp stdout expected
check "without extensions, and with the warnings of a strict project" "$CC" -fsyntax-only -std=c11 -pedantic-errors \
	-Wall -Wextra -Wconversion -Werror -Iinclude -Isrc src/*.c src/*/*.c
case $(uname -m) in
x86_64)
	if grep -q ' pclmulqdq .* avx2 .* bmi2 ' /proc/cpuinfo; then
		embedded "on AVX2" -march=x86-64-v3 -mpclmul -DV16_AVX2
		check "SSE2 compiles" "$CC" -fsyntax-only -DV16_SSE2 -Iinclude -Isrc src/*.c src/*/*.c
	else
		embedded "on SSE2" -DV16_SSE2
	fi
	;;
aarch64) embedded "on NEON" -march=armv8-a+crc -DV16_NEON ;;
esac
finish
