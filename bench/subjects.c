/* Codecs in settings of note.
 *
 * SPDX-License-Identifier: MIT */
#include "subjects.h"

#include <crumb.h>
#include <stdio.h>

static const char *const settings[] = {
        "twobit:threshold=0.01",
        "terngrad:bucket=16384",
        "terngrad:coding=bits",
        "terngrad:coding=entropy",
        "adacomp:bin=50",
        "strom:threshold=0.01",
        "topk:fraction=0.01",
        "topk:value=exact",
        "qsgd:bucket=8192,norm=max",
        "nuqsgd:bucket=8192",
        "qsgd:bits=3,bucket=8192,norm=max,coding=huffman",
        "qsgd:bits=3,bucket=8192,norm=max,coding=entropy",
};
enum { SETTINGS = sizeof settings / sizeof *settings };

const char *subject_spec(size_t i)
{
	size_t codecs = 0;
	while (crumb_list(codecs))
		codecs++;
	return i < codecs ? crumb_list(i)->name : i < codecs + SETTINGS ? settings[i - codecs] : NULL;
}

const char *subject_cpu(void)
{
	static char cpu[128] = "";
	char line[256];
	FILE *file = *cpu ? NULL : fopen("/proc/cpuinfo", "r");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "model name : %127[^\n,]", cpu) == 1)
			break;
	if (file)
		fclose(file);
	return *cpu ? cpu : "unknown";
}
