/*
 * Control groups, v1, v2 and hybrid: where each controller's hierarchy is, who is in which group,
 * and the cpu controller's numbers. Times in ns whatever the file's unit.
 * Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/; kernel/sched/core.c cpu_cfs_stat_show.
 */
#ifndef KERNEL_CGROUP_H
#define KERNEL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/psi.h"

enum cgroup_mode { CGROUP_NONE, CGROUP_V1, CGROUP_HYBRID, CGROUP_V2 };
const char *cgroup_mode_name(enum cgroup_mode m);      /* "none" "v1" "hybrid" "v2" */

/* One mounted hierarchy that has a controller. */
struct cgroup_hierarchy {
	int version;           /* 1 or 2; 0: the controller is nowhere (not mounted, not visible) */
	const char *mount;     /* source path: "sys/fs/cgroup/cpu,cpuacct"; NULL with version 0 */
	const char *root;      /* mountinfo's root of that mount: "/", or what a container got */
	const char *own;       /* this program's group as in /proc/self/cgroup, "/../.." above a
	                          namespace; NULL unknown */
};

/* From proc/self/mountinfo and proc/self/cgroup (not /proc/cgroups, which misleads). In arena. */
struct cgroup_layout {
	enum cgroup_mode mode;
	struct cgroup_hierarchy cpu, cpuacct, memory, cpuset, unified;
	bool has_namespace;    /* ancestors of the mount's root can't be seen */
};
int cgroup_find(struct arena *arena, struct cgroup_layout *layout);
/* From the two texts alone: a controller that no v1 hierarchy has is taken to be the unified's. */
int cgroup_parse_layout(struct arena *arena, struct text mountinfo, struct text self_cgroup,
			struct cgroup_layout *layout);

/*
 * The folder (source path) of group `path` (as in /proc/PID/cgroup) in hierarchy h, the mount's
 * root stripped; NULL if the group lies outside what is mounted.
 */
const char *cgroup_folder(struct arena *arena, const struct cgroup_hierarchy *h, const char *path);
/* The other way: the path as /proc/PID/cgroup would show it for a folder name below the mount. */
const char *cgroup_path(struct arena *arena, const struct cgroup_hierarchy *h, const char *below);

/*
 * Every group below (and with) the hierarchy's mount, parents before children. A group that
 * vanishes is not an error. 0, or -errno with fail text if the mount or, the others walked all the
 * same, a group could not be listed. each: path as in /proc/PID/cgroup, folder the source path,
 * depth 0 for the root, parent the index of the parent in calling order (-1 for the root). Both
 * strings live until the frame's end.
 */
typedef void (*cgroup_each)(const char *path, const char *folder, unsigned depth, long parent,
			    void *arg);
int cgroup_walk(const struct cgroup_hierarchy *h, cgroup_each each, void *arg);

/* What the kernel calls the group of that folder (source path): its inode number. NA_U64: it is
 * gone, or a saved run does not say. Through the source as the call "inode FOLDER". */
uint64_t cgroup_id(const char *folder);

/* The cpu controller of one group. What a file or line does not say is NA_U64. */
struct cgroup_cpu {
	uint64_t quota_ns, period_ns;  /* quota NA_U64: none ("max", -1; v1: nor a period then) */
	bool has_quota_file;           /* false at v2's root, or when the controller is off here */
	uint64_t burst_ns;             /* cpu.max.burst, cpu.cfs_burst_us; NA without quota */
	uint64_t periods, throttled_periods;
	uint64_t throttled_ns;         /* summed over CPUs; this group's own quota only */
	uint64_t local_throttled_ns;   /* cpu.stat.local: its own, its ancestors'; NA before 6.6 */
	uint64_t bursts, burst_used_ns;
	uint64_t usage_ns;             /* v2 cpu.stat, else cpuacct.usage of the same path */
	struct psi pressure;           /* v2 cpu.pressure */
	const char *trouble;           /* "cpu.stat: why": the first file that is missing or makes
	                                  no sense; NULL none; lives until the frame's end */
};
/* -errno only if nothing at all could be read (the group vanished: -ENOENT or -ENODEV). */
int cgroup_read_cpu(const struct cgroup_layout *layout, const char *folder, struct cgroup_cpu *cpu);
/* The same from cpu.stat and the quota alone, at half the price: burst, local throttling, pressure
 * and v1's usage stay unknown. */
int cgroup_read_quota(const struct cgroup_layout *layout, const char *folder,
		      struct cgroup_cpu *cpu);
int cgroup_parse_cpu_stat(struct text t, struct cgroup_cpu *cpu);      /* v1 and v2 by key */
int cgroup_parse_cpu_local(struct text t, struct cgroup_cpu *cpu);     /* cpu.stat.local, both */
/* v2 "max 100000", "10000 100000", "50000" */
int cgroup_parse_cpu_max(struct text t, struct cgroup_cpu *cpu);

/* CPU time by possible CPU in ns (v1 cpuacct.usage_percpu of the same path), until the frame's end;
 * *count 0 where it does not exist (v2). */
int cgroup_read_percpu(const struct cgroup_layout *layout, const char *path, const uint64_t **ns,
		       unsigned *count);
int cgroup_parse_percpu(struct arena *arena, struct text t, const uint64_t **ns, unsigned *count);

/* Thread ids in one group, not in its children (v2 cgroup.threads, v1 tasks), until the frame's
 * end; 0 marks one outside our pid namespace. */
int cgroup_read_threads(const struct cgroup_hierarchy *h, const char *folder, const uint32_t **tids,
			size_t *count);
int cgroup_parse_threads(struct arena *arena, struct text t, const uint32_t **tids, size_t *count);

/* What its path says a group is; all may be NULL. Nothing is asked of an engine. */
struct cgroup_names {
	const char *runtime;           /* docker containerd cri-o podman lxc systemd-nspawn libvirt
	                                  kubernetes */
	const char *container_id;      /* 64 hex digits */
	const char *pod_uid;           /* with dashes; a static pod's has none */
	const char *pod, *pod_namespace;       /* from var/log/containers, if the host has it */
	const char *container;         /* the same; or what lxc or machined call it */
};
void cgroup_name(struct arena *arena, const char *path, struct cgroup_names *names);
/* Looks a container_id up in var/log/containers for pod, namespace and container. */
void cgroup_name_from_logs(struct arena *arena, struct cgroup_names *names);
bool cgroup_parse_log_name(struct text file, const char *container_id, struct text *pod,
			   struct text *namespace, struct text *container);
/* "shop/api-5d4 container api" or "docker 4f2a91c0b7de" or NULL. */
const char *cgroup_names_text(struct arena *arena, const struct cgroup_names *names);

#endif
