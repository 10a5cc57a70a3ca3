/* The table of one instruction set.
 *
 * SPDX-License-Identifier: MIT */
#include "codec.h"
#include "crc32c.h"
#include "gate.h"

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
                                 .finite = PER_ISA(finite),
                                 .crc = PER_ISA(crc),
                                 .checksum = PER_ISA(checksum)};
