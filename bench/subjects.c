/* Codecs in settings of note.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/subjects.h"

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
        "topk:fraction=0.001",
        "topk:value=exact",
        "qsgd:bucket=8192,norm=max",
        "nuqsgd:bucket=8192",
        "qsgd:bucket=8192,norm=max,coding=huffman",
        "qsgd:bucket=8192,norm=max,coding=entropy",
        "alq:coding=entropy",
        "block:bits=4",
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
	static char cpu[160] = "";
	char line[256], name[128] = "unknown";
	int family = 0, model = 0;
	FILE *file = *cpu ? NULL : fopen("/proc/cpuinfo", "r");
	while (file && fgets(line, sizeof line, file) && *line != '\n') {
		sscanf(line, "model name : %127[^\n,]", name);
		sscanf(line, "cpu family : %d", &family);
		sscanf(line, "model : %d", &model);
	}
	if (file)
		fclose(file);
	if (!*cpu)
		snprintf(cpu, sizeof cpu, "%s family %d model %d", name, family, model);
	return cpu;
}
