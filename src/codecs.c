/* The table of one instruction set.
 *
 * SPDX-License-Identifier: MIT */
#include "base/per_isa.h"
#include "isa.h"
#include "check/crc32c.h"
#include "check/finite.h"

#define CODEC(name) extern const struct codec PER_ISA(name);
#include "codecs.def"
#undef CODEC

static const struct codec *const codecs[] = {
#define CODEC(name) &PER_ISA(name),
#include "codecs.def"
#undef CODEC
        NULL};

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

const struct isa PER_ISA(isa) = {.name = STRING(V16_ISA),
                                 .codecs = codecs,
                                 .finite = gradient_finite,
                                 .crc = crc32c,
                                 .checksum = crc32c_blocks};
