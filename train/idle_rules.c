/* A rule applies to the kinds that it names and no rule before it does; one for fc also to last and
 * embedding, where no rule names them.
 *
 * SPDX-License-Identifier: MIT */
#include "train/idle_rules.h"
#include "exchange/auto/script.h"
#include "program/program.h"

#include <string.h>

static unsigned kinds_of(const struct net *net)
{
	unsigned kinds = 0;
	for (size_t s = 0; s < net->slice_count; s++)
		kinds |= 1u << net->slice[s].kind;
	return kinds;
}

static void list(unsigned kinds, char *text, size_t cap)
{
	size_t used = 0;
	*text = 0;
	for (int kind = 0; kind < CRUMB_KINDS && used < cap; kind++)
		if (kinds & 1u << kind)
			used += (size_t)snprintf(text + used, cap - used, "%s%s", used ? ", " : "",
			                         crumb_kind_name(kind));
}

static int check(const char *option, const char *policy, const struct net *net, bool say, char *why,
                 size_t cap)
{
	const unsigned named = crumb_policy_named(policy);
	unsigned left = kinds_of(net);
	char there[96];
	list(left, there, sizeof there);
	if (named && !(crumb_policy_with_fc(named, named) & left)) {
		snprintf(why, cap, "--%s: no slice of %s is for a rule of \"%s\": there are %s", option,
		         net->model->name, policy, there);
		return -1;
	}
	for (const char *rule = policy, *end = policy; say && named && *end; rule = end) {
		const unsigned kinds = crumb_policy_with_fc(crumb_policy_rule(&end), named);
		if (!(kinds & left))
			program_say("crumb-train: --%s: no slice of %s is left for \"%.*s\": there are %s",
			            option, net->model->name, (int)strcspn(rule, ";"), rule, there);
		left &= ~kinds;
	}
	return 0;
}

int idle_rules_check(const struct options *o, const struct net *net, bool say, char *why, size_t cap)
{
	for (size_t i = 0; i < o->codec_count; i++)
		if (!crumb_script_meant(o->codec[i].text) &&
		    check("codec", o->codec[i].text, net, say, why, cap) < 0)
			return -1;
	return o->down_exact ? 0 : check("down", o->down_text, net, say, why, cap);
}
