/* A file that uses v16.h is compiled once per instruction set; PER_ISA(name) is the name of an external
 * symbol there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PER_ISA_H
#define PER_ISA_H

#ifndef V16_ISA
#define V16_ISA portable
#define V16_PORTABLE
#endif
#define PASTE_(a, b)  a##_##b
#define PASTE(a, b)   PASTE_(a, b)
#define PER_ISA(name) PASTE(crumb_##name, V16_ISA)

#endif
