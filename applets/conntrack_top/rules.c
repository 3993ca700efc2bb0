/* What nftables rules add: drops of invalid packets that are counted, and ports for SNAT. */
#include <string.h>

#include "applets/conntrack_top/conntrack_top.h"
#include "common/base/mem.h"
#include "common/kernel/nftrule.h"
#include "common/kernel/source.h"

#define SNAT_PORT_FIRST 1024           /* nf_nat_l4proto_unique_tuple, for source ports from 1024 */
#define SNAT_PORT_LAST 65535

static void add_invalid(struct rules *rules, const struct nft_rule *r)
{
	if (!rules->invalid_rules++)
		rules->invalid_rule = arena_printf(src_arena(), "%s %.*s %.*s handle %llu",
						   nft_family_name(r->family), (int)r->table.len,
						   r->table.data, (int)r->chain.len, r->chain.data,
						   (unsigned long long)r->handle);
	rules->invalid_dropped += r->invalid_dropped;
}

static void add_rule(const struct nft_rule *r, void *arg)
{
	struct rules *rules = arg;

	if (r->invalid_dropped != NA_U64)
		add_invalid(rules, r);
	if (!r->is_snat)
		return;
	if (rules->snat_count == SNAT_RULES_MAX) {
		rules->has_more_snat = true;
		return;
	}
	struct snat_rule *to = &rules->snat[rules->snat_count++];

	*to = (struct snat_rule){ .has_address = r->has_address, .family = r->address_family,
				  .port_min = r->port_min, .port_max = r->port_max };
	memcpy(to->min, r->address_min, sizeof(to->min));
	memcpy(to->max, r->address_max, sizeof(to->max));
}

static void start_again(void *arg)
{
	*(struct rules *)arg = (struct rules){ 0 };
}

/* Asked only where it can matter: large rule sets take their time. */
void space_read_rules(struct out *out, struct space *s)
{
	bool has_invalid = s->now.invalid && s->now.invalid != NA_U64;

	s->rules_before = s->rules;
	s->rules = (struct rules){ 0 };
	if (!has_invalid && !(s->has_dump && top.nat.count))
		return;
	s->rules.is_known = nft_rules_each(add_rule, start_again, &s->rules) >= 0;
	if (!s->rules.is_known) {
		s->rules = (struct rules){ 0 };
		/* a saved run may be of before it was asked, and without the right to it nothing
		   is found from it */
		if (shared.verbose)
			out_note(out, "%s: nftables rules: %s", s->name, fail_text());
	}
}

static bool may_give(const struct snat_rule *r, uint8_t family, const uint8_t address[16])
{
	if (!r->has_address)
		return true;
	return r->family == family && memcmp(address, r->min, sizeof(r->min)) >= 0 &&
		memcmp(address, r->max, sizeof(r->max)) <= 0;
}

/* Rules that could have given the address; unless they agree, all ports. */
unsigned snat_ports(const struct space *s, const struct topk_key *key, uint16_t *first,
		    uint16_t *last)
{
	const struct snat_rule *found = NULL;
	uint8_t address[16];
	bool agree = !s->rules.has_more_snat;

	memcpy(address, &key->words[2], sizeof(address));
	for (size_t i = 0; i < s->rules.snat_count; i++) {
		const struct snat_rule *r = &s->rules.snat[i];

		if (!may_give(r, (uint8_t)(key->words[0] >> 40), address))
			continue;
		agree &= r->port_min && r->port_max >= r->port_min &&
			(!found || (found->port_min == r->port_min &&
				    found->port_max == r->port_max));
		found = r;
	}
	*first = found && agree ? found->port_min : SNAT_PORT_FIRST;
	*last = found && agree ? found->port_max : SNAT_PORT_LAST;
	return (unsigned)*last - *first + 1;
}
