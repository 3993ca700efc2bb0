/* Which container or pod a group's path says it is: habits of the engines, not of the kernel. */
#include "common/kernel/cgroup.h"

#include "common/base/scan.h"
#include "common/kernel/source.h"

#define ID_DIGITS 64
#define ID_SHOWN 12

static bool is_hex(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
			return false;
	return true;
}

/* Take prefix and, where it is there, suffix off a name. */
static bool strip(struct text name, const char *prefix, const char *suffix, struct text *inner)
{
	if (!text_starts(name, prefix))
		return false;
	size_t n = strlen(prefix), m = strlen(suffix);
	struct text t = { name.data + n, name.len - n };

	if (t.len >= m && m && !memcmp(t.data + t.len - m, suffix, m))
		t.len -= m;
	*inner = t;
	return true;
}

static bool strip_both(struct text name, const char *prefix, const char *suffix, struct text *inner)
{
	return strip(name, prefix, suffix, inner) &&
		inner->len + strlen(prefix) + strlen(suffix) == name.len;
}

static bool is_id(struct text t)
{
	return t.len == ID_DIGITS && is_hex(t.data, ID_DIGITS);
}

/* "PREFIX-ID.scope" by the systemd driver, "PREFIX-ID" by the cgroupfs driver. */
static bool take_prefixed_id(struct arena *arena, struct text name, struct cgroup_names *names)
{
	static const struct {
		const char *prefix, *runtime;
	} engines[] = {
		{ "docker-", "docker" }, { "crio-", "cri-o" },
		{ "cri-containerd-", "containerd" }, { "nerdctl-", "containerd" },
		{ "libpod-", "podman" }, { "libpod-payload-", "podman" },
	};
	struct text id;

	/* crio-conmon-ID and libpod-conmon-ID are the monitors: what is left there is no id */
	for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++)
		if (strip(name, engines[i].prefix, ".scope", &id) && is_id(id)) {
			names->runtime = engines[i].runtime;
			names->container_id = arena_text(arena, id);
			return true;
		}
	return false;
}

/* A bare ID: the folder above says whose it is. */
static bool take_bare_id(struct arena *arena, struct text name, struct text parent,
			 struct cgroup_names *names)
{
	if (!is_id(name))
		return false;
	if (text_is(parent, "docker"))
		names->runtime = "docker";
	else if (text_is(parent, "default") || text_is(parent, "k8s.io"))
		names->runtime = "containerd";         /* its namespaces */
	else if (text_is(parent, "libpod_parent"))
		names->runtime = "podman";
	else if (!names->pod_uid)
		names->runtime = NULL;                 /* inside a pod it stays kubernetes */
	names->container_id = arena_text(arena, name);
	return true;
}

/*
 * "kubepods-burstable-podUID.slice" with _ for -, or "podUID" below kubepods. A static pod's UID is
 * 32 digits without dashes.
 */
static bool take_pod(struct arena *arena, struct text name, bool is_in_kubepods,
		     struct cgroup_names *names)
{
	struct text uid;
	const char *p = NULL;

	if (is_in_kubepods && strip(name, "pod", "", &uid)) {
		p = uid.data;
	} else if (strip_both(name, "", ".slice", &uid)) {
		p = memmem(uid.data, uid.len, "kubepods", 8);
		p = p ? memmem(p, (size_t)(uid.data + uid.len - p), "-pod", 4) : NULL;
		if (!p)
			return false;
		p += 4;
		uid = (struct text){ p, (size_t)(uid.data + uid.len - p) };
	}
	if (!p || !(uid.len == 36 || (uid.len == 32 && is_hex(p, 32))))
		return false;
	char *copy = arena_text(arena, uid);

	for (size_t i = 0; uid.len == 36 && i < 36; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? copy[i] != '-' && copy[i] != '_' : !is_hex(copy + i, 1))
			return false;
		if (is_dash)
			copy[i] = '-';
	}
	*names = (struct cgroup_names){ .runtime = "kubernetes", .pod_uid = copy };
	return true;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* systemd.unit(5): bytes that a unit's name can't have stand as \xNN. */
static const char *unescape_unit(struct arena *arena, struct text t)
{
	char *copy = arena_alloc(arena, t.len + 1), *to = copy;

	for (size_t i = 0; i < t.len; i++) {
		const char *p = t.data + i;

		if (*p == '\\' && t.len - i > 3 && p[1] == 'x' && hex_value(p[2]) >= 0 &&
		    hex_value(p[3]) >= 0 && (p[2] != '0' || p[3] != '0')) {
			*to++ = (char)(hex_value(p[2]) << 4 | hex_value(p[3]));
			i += 3;
		} else {
			*to++ = *p;
		}
	}
	return copy;
}

/* Containers that go by a name: lxc's groups, machined's scopes, nspawn's services. */
static bool take_named(struct arena *arena, struct text name, struct text parent,
		       struct cgroup_names *names)
{
	const char *runtime = "lxc";
	struct text inner = name;

	if (text_is(parent, "lxc") || text_is(parent, "lxc.payload")) {
		if (text_starts(name, "lxc.monitor"))
			return false;
	} else if (strip_both(name, "machine-", ".scope", &inner)) {
		/* libvirt's virtual machines: "qemu\x2d1\x2dNAME" */
		runtime = text_starts(inner, "qemu\\x2d") ? "libvirt" : "systemd-nspawn";
	} else if (strip_both(name, "systemd-nspawn@", ".service", &inner)) {
		runtime = "systemd-nspawn";
	} else if (!strip(name, "lxc.payload.", "", &inner)) {
		return false;
	}
	if (!inner.len)
		return false;
	*names = (struct cgroup_names){ .runtime = runtime };
	names->container = unescape_unit(arena, inner);
	return true;
}

void cgroup_name(struct arena *arena, const char *path, struct cgroup_names *names)
{
	struct cgroup_names found = { 0 };
	struct text parent = { "", 0 };
	bool is_in_kubepods = false;

	/* containers may hold containers: the innermost has the last word */
	while (*path) {
		struct text name = { path, strcspn(path, "/") };

		path += name.len + (path[name.len] == '/');
		if (!name.len)
			continue;
		if (!take_pod(arena, name, is_in_kubepods, &found) &&
		    !take_prefixed_id(arena, name, &found) &&
		    !take_bare_id(arena, name, parent, &found))
			take_named(arena, name, parent, &found);
		is_in_kubepods = is_in_kubepods || text_is(name, "kubepods");
		parent = name;
	}
	*names = found;
}

/* "POD_NAMESPACE_CONTAINER-ID.log"; none of the three may hold an underscore. */
bool cgroup_parse_log_name(struct text file, const char *container_id, struct text *pod,
			   struct text *namespace, struct text *container)
{
	size_t n = strlen(container_id), tail = n + 5;

	if (!n || file.len <= tail || memcmp(file.data + file.len - 4, ".log", 4) != 0 ||
	    memcmp(file.data + file.len - tail + 1, container_id, n) != 0 ||
	    file.data[file.len - tail] != '-')
		return false;
	struct scan s = { file.data, file.data + file.len - tail };
	struct text first, second;

	if (!scan_until(&s, '_', &first) || !scan_until(&s, '_', &second) ||
	    !first.len || !second.len || s.at == s.end)
		return false;
	*pod = first, *namespace = second, *container = scan_rest(&s);
	return true;
}

void cgroup_name_from_logs(struct arena *arena, struct cgroup_names *names)
{
	struct src_names files;
	struct text pod, namespace, container;

	if (!names->container_id || src_list("var/log/containers", &files) < 0)
		return;
	for (size_t i = 0; i < files.count; i++) {
		if (!cgroup_parse_log_name(text_of(files.items[i]), names->container_id, &pod,
					   &namespace, &container))
			continue;
		names->pod = arena_text(arena, pod);
		names->pod_namespace = arena_text(arena, namespace);
		names->container = arena_text(arena, container);
		return;
	}
}

const char *cgroup_names_text(struct arena *arena, const struct cgroup_names *names)
{
	const char *kind = names->runtime ? names->runtime : "container";

	if (names->pod && names->pod_namespace && names->container)
		return arena_printf(arena, "%s/%s container %s", names->pod_namespace, names->pod,
				    names->container);
	if (names->container_id && names->pod_uid)
		return arena_printf(arena, "%s %.*s pod %s", kind, ID_SHOWN, names->container_id,
				    names->pod_uid);
	if (names->container_id)
		return arena_printf(arena, "%s %.*s", kind, ID_SHOWN, names->container_id);
	if (names->pod_uid)
		return arena_printf(arena, "pod %s", names->pod_uid);
	if (names->container)
		return arena_printf(arena, "%s %s", kind, names->container);
	return NULL;
}
