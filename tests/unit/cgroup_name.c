#include "common/base/fail.h"
#include "common/kernel/cgroup.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

#define ID "4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de0123"
#define ID2 "00000000000000000000000000000000000000000000000000000000000000ff"
#define SHORT "4f2a91c0b7de"
#define UID "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
#define UID_ "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"
#define STATIC "0123456789abcdef0123456789abcdef"
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"

static struct arena arena;

static const struct {
	const char *path, *runtime, *id, *pod_uid, *container, *text;
} cases[] = {
	{ "/", NULL, NULL, NULL, NULL, NULL },
	{ "/user.slice/user-1000.slice/session-1.scope", NULL, NULL, NULL, NULL, NULL },
	{ "/docker/" ID, "docker", ID, NULL, NULL, "docker " SHORT },
	{ "/docker/" ID "/init.scope", "docker", ID, NULL, NULL, "docker " SHORT },
	{ "/system.slice/docker-" ID ".scope", "docker", ID, NULL, NULL, "docker " SHORT },
	{ "/docker/" ID "/docker/" ID2, "docker", ID2, NULL, NULL, "docker 000000000000" },
	{ "/system.slice/cri-containerd-" ID ".scope", "containerd", ID, NULL, NULL,
	  "containerd " SHORT },
	{ "/default/" ID, "containerd", ID, NULL, NULL, "containerd " SHORT },
	{ "/k8s.io/" ID, "containerd", ID, NULL, NULL, "containerd " SHORT },
	{ "/system.slice/nerdctl-" ID ".scope", "containerd", ID, NULL, NULL, "containerd " SHORT },
	{ POD, "kubernetes", NULL, UID, NULL, "pod " UID },
	{ POD "/cri-containerd-" ID ".scope", "containerd", ID, UID, NULL,
	  "containerd " SHORT " pod " UID },
	{ POD "/crio-" ID ".scope/container", "cri-o", ID, UID, NULL, "cri-o " SHORT " pod " UID },
	{ POD "/crio-conmon-" ID ".scope", "kubernetes", NULL, UID, NULL, "pod " UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice", "kubernetes", NULL, UID, NULL, "pod " UID },
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UID_ ".slice/docker-" ID ".scope",
	  "docker", ID, UID, NULL, "docker " SHORT " pod " UID },
	{ "/kubepods/burstable/pod" UID "/" ID, "kubernetes", ID, UID, NULL,
	  "kubernetes " SHORT " pod " UID },
	{ "/kubepods/pod" STATIC "/" ID, "kubernetes", ID, STATIC, NULL,
	  "kubernetes " SHORT " pod " STATIC },
	{ "/docker/" ID2 "/kubelet/kubepods/besteffort/pod" UID "/" ID, "kubernetes", ID, UID, NULL,
	  "kubernetes " SHORT " pod " UID },
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID, NULL, NULL,
	  "podman " SHORT },
	{ "/machine.slice/libpod-conmon-" ID ".scope", NULL, NULL, NULL, NULL, NULL },
	{ "/libpod_parent/libpod-" ID, "podman", ID, NULL, NULL, "podman " SHORT },
	{ "/lxc/web1", "lxc", NULL, NULL, "web1", "lxc web1" },
	{ "/lxc.payload.web1/system.slice/a.service", "lxc", NULL, NULL, "web1", "lxc web1" },
	{ "/lxc.payload/web1", "lxc", NULL, NULL, "web1", "lxc web1" },
	{ "/lxc.monitor.web1", NULL, NULL, NULL, NULL, NULL },
	{ "/machine.slice/machine-deb\\x2d12.scope", "systemd-nspawn", NULL, NULL, "deb-12",
	  "systemd-nspawn deb-12" },
	{ "/machine.slice/systemd-nspawn@deb.service/payload", "systemd-nspawn", NULL, NULL, "deb",
	  "systemd-nspawn deb" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt", "libvirt", NULL, NULL,
	  "qemu-1-vm", "libvirt qemu-1-vm" },
	{ "/ecs/0123/" ID, NULL, ID, NULL, NULL, "container " SHORT },
	{ "/../../system.slice/docker-" ID ".scope", "docker", ID, NULL, NULL, "docker " SHORT },
	/* not quite: */
	{ "/docker/buildkit", NULL, NULL, NULL, NULL, NULL },
	{ "/docker-" ID "0.scope", NULL, NULL, NULL, NULL, NULL },
	{ "/system.slice/docker-" ID ".service", NULL, NULL, NULL, NULL, NULL },
	{ "/pod" UID, NULL, NULL, NULL, NULL, NULL },
	{ "/kubepods/podXa1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", NULL, NULL, NULL, NULL, NULL },
	{ "/machine-.scope/machine-x.service", NULL, NULL, NULL, NULL, NULL },
	{ "/systemd-nspawn@.service", NULL, NULL, NULL, NULL, NULL },
	{ "/a\tb\n\x1b[1m/\\x2d\\", NULL, NULL, NULL, NULL, NULL },
	{ "", NULL, NULL, NULL, NULL, NULL },
	{ "//////", NULL, NULL, NULL, NULL, NULL },
};

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cgroup_names names;

		cgroup_name(&arena, cases[i].path, &names);
		CHECK_STR(names.runtime, cases[i].runtime);
		CHECK_STR(names.container_id, cases[i].id);
		CHECK_STR(names.pod_uid, cases[i].pod_uid);
		CHECK_STR(names.container, cases[i].container);
		CHECK(!names.pod && !names.pod_namespace);
		CHECK_STR(cgroup_names_text(&arena, &names), cases[i].text);
	}
}

static bool is_log(const char *file, const char *pod, const char *namespace, const char *container)
{
	struct text p, n, c, t = text_of(file);

	if (!cgroup_parse_log_name(cut(t, t.len), ID, &p, &n, &c))
		return !pod;
	return pod && text_is(p, pod) && text_is(n, namespace) && text_is(c, container);
}

static void test_log_names(void)
{
	const struct cgroup_names names = {
		.runtime = "containerd", .container_id = ID, .pod_uid = UID,
		.pod = "api-5d4", .pod_namespace = "shop", .container = "api",
	};

	CHECK_STR(cgroup_names_text(&arena, &names), "shop/api-5d4 container api");
	CHECK(is_log("api-5d4_shop_api-" ID ".log", "api-5d4", "shop", "api"));
	CHECK(is_log("a.b_c_d-e-" ID ".log", "a.b", "c", "d-e"));
	CHECK(is_log("api-5d4_shop_api-" ID2 ".log", NULL, NULL, NULL));
	CHECK(is_log("api-5d4_shop-" ID ".log", NULL, NULL, NULL));
	CHECK(is_log("_shop_api-" ID ".log", NULL, NULL, NULL));
	CHECK(is_log("a__api-" ID ".log", NULL, NULL, NULL));
	CHECK(is_log("a_b_-" ID ".log", NULL, NULL, NULL));
	CHECK(is_log("a_b_c" ID ".log", NULL, NULL, NULL));
	CHECK(is_log("-" ID ".log", NULL, NULL, NULL));
	CHECK(is_log(ID ".log", NULL, NULL, NULL));
	CHECK(is_log("a_b_c-" ID, NULL, NULL, NULL));
	CHECK(is_log("", NULL, NULL, NULL));
}

int main(void)
{
	test_cases();
	test_log_names();
	arena_free(&arena);
	return check_done("cgroup_name");
}
