/* Pseudonyms: off by default, stable, keyed, and never the name itself. */
#include "common/report/redact.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static struct arena a;

static const char *shown(enum name_kind kind, const char *name)
{
	return redact_name(&a, kind, name);
}

static void check_simple(void)
{
	const char *name = "postgres";
	const char *pseudonym = shown(NAME_COMMAND, name);

	CHECK(!strncmp(pseudonym, "command-", 8) && strlen(pseudonym) == 16);
	CHECK(strspn(pseudonym + 8, "0123456789abcdef") == 8);
	CHECK_STR(shown(NAME_COMMAND, "postgres"), pseudonym);
	CHECK(strcmp(shown(NAME_COMMAND, "postgret"), pseudonym) != 0);
	CHECK_STR(shown(NAME_USER, name) + 5, pseudonym + 8);
	CHECK(!strncmp(shown(NAME_USER, name), "user-", 5));
	CHECK(!strncmp(shown(NAME_HOST, name), "host-", 5));
	CHECK(!strncmp(shown(NAME_CONTAINER, name), "container-", 10));
	CHECK(shown(NAME_PLAIN, name) == name);
	CHECK(!shown(NAME_COMMAND, NULL));
	CHECK_STR(shown(NAME_COMMAND, ""), "");
}

static void check_cgroups(void)
{
	static const char *const kept[] = {
		"/", "/..", "/../..", "/system.slice", "/user.slice/", "/init.scope", "/docker",
		"/machine.slice",
		"/kubepods/burstable", "/kubepods/besteffort",
		"/kubepods.slice/kubepods-burstable.slice",
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		CHECK_STR(shown(NAME_CGROUP, kept[i]), kept[i]);
	const char *one = shown(NAME_CGROUP, "/system.slice/acme-billing.service");

	CHECK(!strncmp(one, "/system.slice/cgroup-", 21) && !strcmp(one + 29, ".service"));
	CHECK(!strstr(one, "acme"));
	const char *pod = shown(NAME_CGROUP, "/kubepods.slice/kubepods-burstable.slice/"
				"kubepods-burstable-pod3b5e1c9a_11.slice/"
				"cri-containerd-9f1c.scope");

	CHECK(!strncmp(pod, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod", 63));
	CHECK(!strstr(pod, "3b5e1c9a") && !strstr(pod, "9f1c") && strstr(pod, ".slice/cgroup-"));
	CHECK(!strstr(shown(NAME_CGROUP, "/kubepods-acme"), "acme"));
	CHECK(!strstr(shown(NAME_CGROUP, "acme"), "acme"));
	CHECK(!strncmp(shown(NAME_CGROUP, "/docker/abc/x"), shown(NAME_CGROUP, "/docker/abc"),
		       strlen(shown(NAME_CGROUP, "/docker/abc"))));
}

static void check_addresses(void)
{
	const char *bare = shown(NAME_ADDRESS, "192.0.2.7");
	const char *port = shown(NAME_ADDRESS, "192.0.2.7:443");

	CHECK(!strncmp(bare, "address-", 8) && strlen(bare) == 16);
	CHECK(!strncmp(port, bare, 16) && !strcmp(port + 16, ":443"));
	bare = shown(NAME_ADDRESS, "2001:db8::1");
	port = shown(NAME_ADDRESS, "[2001:db8::1]:80");
	CHECK(strlen(bare) == 16 && !strncmp(port, bare, 16) && !strcmp(port + 16, ":80"));
	CHECK_STR(shown(NAME_ADDRESS, "0.0.0.0:80"), "0.0.0.0:80");
	CHECK_STR(shown(NAME_ADDRESS, "[::]:80"), "[::]:80");
	CHECK_STR(shown(NAME_ADDRESS, "*:80"), "*:80");
	CHECK_STR(shown(NAME_ADDRESS, "::"), "::");
	/* not one of the forms we know: nothing of it is kept */
	CHECK(strlen(shown(NAME_ADDRESS, "192.0.2.7:80->192.0.2.8:9")) == 16);
	CHECK(!strstr(shown(NAME_ADDRESS, "fe80::1%acme0"), "acme"));
	CHECK(!strstr(shown(NAME_ADDRESS, "192.0.2.7:acme"), "acme"));
}

static void check_remarks(void)
{
	const char *entry = "/run/netns/acme shop: refused";
	const char *told = redact_remark(&a, entry);

	CHECK(!strncmp(told, "/run/netns/container-", 21) && !strcmp(told + 29, ": refused"));
	CHECK(!strncmp(told + 11, shown(NAME_CONTAINER, "acme shop"), 18));
	CHECK(!strstr(redact_remark(&a, "x: run/docker/netns/acme"), "acme"));
	CHECK(!strstr(redact_remark(&a, "/run/netns/a: b, /run/netns/acme"), "acme"));
	CHECK_STR(redact_remark(&a, "/run/netns/: gone"), "/run/netns/: gone");
	CHECK_STR(redact_remark(&a, "/run/netns/"), "/run/netns/");
	CHECK_STR(redact_remark(&a, ""), "");
}

int main(void)
{
	const char *name = "postgres";

	CHECK(!redact_is_on());
	CHECK(shown(NAME_COMMAND, name) == name);

	redact_on("00010203-0405-0607-0809-0a0b0c0d0e0f\n");
	CHECK(redact_is_on());
	/* computed by another SipHash-2-4, one that passes the published test vector */
	CHECK_STR(shown(NAME_COMMAND, "postgres"), "command-fa8f401b");
	CHECK_STR(shown(NAME_COMMAND, "kworker/0:1-events"), "command-89ced07e");
	const char *before = arena_strdup(&a, shown(NAME_COMMAND, name));

	check_simple();
	check_cgroups();
	check_addresses();
	check_remarks();
	redact_on("00010203-0405-0607-0809-0a0b0c0d0e10");
	CHECK(strcmp(shown(NAME_COMMAND, name), before) != 0);
	redact_on("00010203-0405-0607-0809-0a0b0c0d0e0f");
	CHECK_STR(shown(NAME_COMMAND, name), before);
	redact_on("");
	CHECK(strcmp(shown(NAME_COMMAND, name), before) != 0);
	redact_on(NULL);
	CHECK(!redact_is_on() && shown(NAME_COMMAND, name) == name);
	CHECK_STR(redact_remark(&a, "/run/netns/acme"), "/run/netns/acme");
	arena_free(&a);
	return check_done("redact");
}
