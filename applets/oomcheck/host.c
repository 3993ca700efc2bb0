/* The host's memory: how much there is, who takes it back, and who waits for it. */
#include <stdlib.h>
#include <string.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/meminfo.h"
#include "common/kernel/mounts.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define NODES "sys/devices/system/node"

struct host_row {
	const char *host;
	uint64_t total_bytes, available_bytes, free_bytes, anon_bytes, file_bytes, shmem_bytes,
		slab_reclaimable_bytes, slab_unreclaimable_bytes, swap_total_bytes, swap_used_bytes;
	double swap_in_per_second, swap_out_per_second, kswapd_scanned_per_second,
		direct_scanned_per_second, kswapd_taken_per_second, direct_taken_per_second,
		refaults_per_second, some_ratio, full_ratio;
	uint64_t stalls, kills, interval_ns;
	bool is_faked;
};

static const struct column host_columns[] = {
	COL_NAME(struct host_row, host, NULL, ROLE_KEY, NAME_HOST, "host name"),
	COL(struct host_row, total_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "memory"),
	COL(struct host_row, available_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "what can be had without swapping (MemAvailable)"),
	COL(struct host_row, free_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "not used at all"),
	COL(struct host_row, anon_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "anonymous memory"),
	COL(struct host_row, file_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "page cache, buffers and shared memory"),
	COL(struct host_row, shmem_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "shared memory and tmpfs"),
	COL(struct host_row, slab_reclaimable_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "kernel caches that can shrink"),
	COL(struct host_row, slab_unreclaimable_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "kernel memory that can't"),
	COL(struct host_row, swap_total_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "swap"),
	COL(struct host_row, swap_used_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "swap in use"),
	COL(struct host_row, swap_in_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages swapped in"),
	COL(struct host_row, swap_out_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages swapped out"),
	COL(struct host_row, stalls, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "allocations that had to free memory themselves (allocstall)"),
	COL(struct host_row, kswapd_scanned_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages that kswapd looked at"),
	COL(struct host_row, kswapd_taken_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages that kswapd freed"),
	COL(struct host_row, direct_scanned_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages that allocating tasks looked at"),
	COL(struct host_row, direct_taken_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages that allocating tasks freed"),
	COL(struct host_row, refaults_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages read again soon after they were taken away"),
	COL(struct host_row, some_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval some task waited for memory (PSI)"),
	COL(struct host_row, full_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval all of them did"),
	COL(struct host_row, kills, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "tasks killed for memory, by a group's limit or the host's (vmstat oom_kill)"),
	COL(struct host_row, is_faked, NULL, ROLE_GAUGE, UNIT_YES,
	    "lxcfs makes up /proc/meminfo: it is this container's, not the host's"),
	COL(struct host_row, interval_ns, NULL, ROLE_GAUGE, UNIT_NS, "measured interval"),
};

const struct table host_table = { .name = "host",
				  .help = "the host's memory",
				  TABLE(struct host_row, host_columns) };

struct node_row {
	const char *node;
	uint64_t total_bytes, free_bytes, anon_bytes, file_bytes;
	double hits_per_second, misses_per_second, foreign_per_second;
};

static const struct column node_columns[] = {
	COL(struct node_row, node, "NODE", ROLE_KEY, UNIT_TEXT, "NUMA node"),
	COL(struct node_row, total_bytes, "MEMORY", ROLE_GAUGE, UNIT_BYTES, "its memory"),
	COL(struct node_row, free_bytes, "FREE", ROLE_GAUGE, UNIT_BYTES, "not used at all"),
	COL(struct node_row, anon_bytes, "ANON", ROLE_GAUGE, UNIT_BYTES, "anonymous memory"),
	COL(struct node_row, file_bytes, "CACHE", ROLE_GAUGE, UNIT_BYTES,
	    "page cache and shared memory"),
	COL(struct node_row, hits_per_second, "HIT/S", ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages allocated here as intended"),
	COL(struct node_row, misses_per_second, "MISS/S", ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages allocated here although another node was wanted"),
	COL(struct node_row, foreign_per_second, "FOREIGN/S", ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages wanted here and allocated elsewhere"),
};

const struct table node_table = { .name = "nodes",
				  .help = "a NUMA node, where there are several",
				  TABLE(struct node_row, node_columns),
				  .sort = "node" };

static const struct host unknown_host = {
	.total_bytes = NA_U64, .free_bytes = NA_U64, .available_bytes = NA_U64,
	.swap_total_bytes = NA_U64, .swap_free_bytes = NA_U64, .anon_bytes = NA_U64,
	.file_bytes = NA_U64, .shmem_bytes = NA_U64, .slab_reclaimable_bytes = NA_U64,
	.slab_unreclaimable_bytes = NA_U64, .pages_in = NA_U64, .pages_out = NA_U64,
	.stalls = NA_U64, .kswapd_scanned = NA_U64, .direct_scanned = NA_U64,
	.kswapd_taken = NA_U64, .direct_taken = NA_U64, .refaults = NA_U64, .kills = NA_U64,
	.memory = { NA_U64, NA_U64 }, .io = { NA_U64, NA_U64 },
};

static struct host looks[2];
static unsigned look_count;
static struct track track;             /* of what is not available */

const struct host *host_now(void)
{
	return &looks[look_count & 1];
}

const struct host *host_before(void)
{
	return look_count > 1 ? &looks[~look_count & 1] : &unknown_host;
}

/* ---- reading ---- */

/* lxcfs has shown a total of 0, and more swap free than there is. */
static void read_meminfo(struct out *out, struct host *h)
{
	struct text t;

	if (src_read("proc/meminfo", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	h->total_bytes = meminfo_bytes(t, "MemTotal");
	if (!h->total_bytes)
		h->total_bytes = NA_U64;
	h->free_bytes = meminfo_bytes(t, "MemFree");
	h->available_bytes = meminfo_bytes(t, "MemAvailable");
	h->swap_total_bytes = meminfo_bytes(t, "SwapTotal");
	h->swap_free_bytes = meminfo_bytes(t, "SwapFree");
	if (h->swap_total_bytes != NA_U64 && h->swap_free_bytes > h->swap_total_bytes)
		h->swap_free_bytes = NA_U64;
	h->anon_bytes = meminfo_bytes(t, "AnonPages");
	h->file_bytes = sum_u64(meminfo_bytes(t, "Cached"), meminfo_bytes(t, "Buffers"));
	h->shmem_bytes = meminfo_bytes(t, "Shmem");
	h->slab_reclaimable_bytes = meminfo_bytes(t, "SReclaimable");
	h->slab_unreclaimable_bytes = meminfo_bytes(t, "SUnreclaim");
	if (h->total_bytes == NA_U64)
		out_missing(out, "/proc/meminfo: no line \"MemTotal\" that says something");
	else if (h->available_bytes == NA_U64)
		out_missing(out, "/proc/meminfo: no line \"MemAvailable\" (Linux 3.14)");
}

static void read_vmstat(struct out *out, struct host *h)
{
	struct text t;

	if (src_read("proc/vmstat", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	/* its own counter has the name of one that kernels before 4.8 split by zone */
	uint64_t throttled = vmstat_count(t, "pgscan_direct_throttle");

	h->pages_in = vmstat_count(t, "pswpin");
	h->pages_out = vmstat_count(t, "pswpout");
	h->stalls = vmstat_sum(t, "allocstall");
	h->kswapd_scanned = vmstat_sum(t, "pgscan_kswapd");
	h->direct_scanned = vmstat_sum(t, "pgscan_direct");
	if (h->direct_scanned != NA_U64 && throttled != NA_U64)
		h->direct_scanned -= throttled;
	h->kswapd_taken = vmstat_sum(t, "pgsteal_kswapd");
	h->direct_taken = vmstat_sum(t, "pgsteal_direct");
	h->refaults = vmstat_sum(t, "workingset_refault");
	h->kills = vmstat_count(t, "oom_kill");
	if (h->stalls == NA_U64)
		out_missing(out, "/proc/vmstat: no line \"allocstall\"");
}

static void read_node(struct numa_node *n, uint32_t id)
{
	struct text info = { "", 0 }, stat = { "", 0 };

	src_readf(&info, NODES "/node%u/meminfo", id);
	src_readf(&stat, NODES "/node%u/numastat", id);
	*n = (struct numa_node){
		.id = id,
		.total_bytes = node_meminfo_bytes(info, "MemTotal"),
		.free_bytes = node_meminfo_bytes(info, "MemFree"),
		.file_bytes = node_meminfo_bytes(info, "FilePages"),
		.anon_bytes = node_meminfo_bytes(info, "AnonPages"),
		.hits = vmstat_count(stat, "numa_hit"),
		.misses = vmstat_count(stat, "numa_miss"),
		.foreign = vmstat_count(stat, "numa_foreign"),
	};
}

static void read_nodes(struct host *h)
{
	struct src_names names;

	if (src_list(NODES, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		struct scan s = scan_of(text_of(names.items[i]));
		uint64_t id;

		if (!scan_literal(&s, "node") || !scan_all_u64(scan_rest(&s), &id) ||
		    id > UINT16_MAX)
			continue;
		h->nodes = mem_grow(h->nodes, &h->node_cap, h->node_count + 1, sizeof(*h->nodes));
		read_node(&h->nodes[h->node_count++], (uint32_t)id);
	}
}

static bool is_faked(void)
{
	struct mounts mounts;

	if (mounts_read(src_arena(), &mounts) < 0)
		return false;
	for (size_t i = 0; i < mounts.count; i++)
		if (mounts.items[i].is_visible && !strcmp(mounts.items[i].point, "/proc/meminfo") &&
		    !strcmp(mounts.items[i].type, "fuse.lxcfs"))
			return true;
	return false;
}

void host_look(struct out *out)
{
	struct host *h = &looks[++look_count & 1];
	struct numa_node *nodes = h->nodes;
	size_t cap = h->node_cap;

	*h = unknown_host;
	h->nodes = nodes;
	h->node_cap = cap;
	h->is_faked = is_faked();
	read_meminfo(out, h);
	read_vmstat(out, h);
	read_nodes(h);
	if (psi_read("proc/pressure/memory", &h->memory) < 0)
		out_note(out, "%s", fail_text());
	psi_read("proc/pressure/io", &h->io);
	oomcheck.total_bytes = h->total_bytes;
	oomcheck.available_bytes = h->available_bytes;
	uint64_t swapped = delta_u64(h->swap_total_bytes, h->swap_free_bytes);

	track_add(&track, sum_u64(delta_u64(h->total_bytes, h->available_bytes),
				  swapped == NA_U64 ? 0 : swapped), h->memory.some_ns);
}

bool host_growth(struct growth *g, uint64_t *left_ns)
{
	const struct host *h = host_now();
	uint64_t left = h->swap_free_bytes == NA_U64 ? h->available_bytes :
		sum_u64(h->available_bytes, h->swap_free_bytes);

	if (left == NA_U64 || !track_growth(&track, g) || !(g->bytes_per_second > 0))
		return false;
	double ns = (double)left * 1e9 / g->bytes_per_second;

	*left_ns = ns < 1e18 ? (uint64_t)ns : NA_U64;
	return true;
}

void host_stop(void)
{
	for (size_t i = 0; i < 2; i++) {
		free(looks[i].nodes);
		looks[i] = (struct host){ 0 };
	}
	look_count = 0;
	track_free(&track);
}

/* ---- showing ---- */

static double rate(uint64_t now, uint64_t before)
{
	return rate_of(delta_u64(now, before), oomcheck.interval_ns);
}

const struct numa_node *host_node_before(uint64_t id)
{
	const struct host *b = host_before();

	for (size_t i = 0; i < b->node_count; i++)
		if (b->nodes[i].id == id)
			return &b->nodes[i];
	return NULL;
}

static void show_nodes(struct out *out)
{
	static const struct numa_node none = { .hits = NA_U64,
					       .misses = NA_U64,
					       .foreign = NA_U64 };
	const struct host *h = host_now();

	for (size_t i = 0; h->node_count > 1 && i < h->node_count; i++) {
		const struct numa_node *n = &h->nodes[i], *b = host_node_before(n->id);

		b = b ? b : &none;
		struct node_row row = {
			.node = arena_printf(out_arena(out), "%llu", (unsigned long long)n->id),
			.total_bytes = n->total_bytes,
			.free_bytes = n->free_bytes,
			.anon_bytes = n->anon_bytes,
			.file_bytes = n->file_bytes,
			.hits_per_second = rate(n->hits, b->hits),
			.misses_per_second = rate(n->misses, b->misses),
			.foreign_per_second = rate(n->foreign, b->foreign),
		};

		out_row(out, &node_table, &row);
	}
}

static struct host_row host_row(const struct host *h, const struct host *b)
{
	return (struct host_row){
		.host = src_uname()->host,
		.total_bytes = h->total_bytes,
		.available_bytes = h->available_bytes,
		.free_bytes = h->free_bytes,
		.anon_bytes = h->anon_bytes,
		.file_bytes = h->file_bytes,
		.shmem_bytes = h->shmem_bytes,
		.slab_reclaimable_bytes = h->slab_reclaimable_bytes,
		.slab_unreclaimable_bytes = h->slab_unreclaimable_bytes,
		.swap_total_bytes = h->swap_total_bytes,
		.swap_used_bytes = delta_u64(h->swap_total_bytes, h->swap_free_bytes),
		.swap_in_per_second = rate(h->pages_in, b->pages_in),
		.swap_out_per_second = rate(h->pages_out, b->pages_out),
		.stalls = delta_u64(h->stalls, b->stalls),
		.kswapd_scanned_per_second = rate(h->kswapd_scanned, b->kswapd_scanned),
		.kswapd_taken_per_second = rate(h->kswapd_taken, b->kswapd_taken),
		.direct_scanned_per_second = rate(h->direct_scanned, b->direct_scanned),
		.direct_taken_per_second = rate(h->direct_taken, b->direct_taken),
		.refaults_per_second = rate(h->refaults, b->refaults),
		.some_ratio = ratio_of(delta_u64(h->memory.some_ns, b->memory.some_ns),
				       oomcheck.interval_ns),
		.full_ratio = ratio_of(delta_u64(h->memory.full_ns, b->memory.full_ns),
				       oomcheck.interval_ns),
		.kills = delta_u64(h->kills, b->kills),
		.is_faked = h->is_faked,
		.interval_ns = oomcheck.interval_ns,
	};
}

static const char *swap_text(struct arena *a, const struct host_row *row)
{
	if (row->swap_total_bytes == 0)
		return "none";
	return arena_printf(
		a, "%s of %s used, in %s, out %s", human_bytes_u64(a, row->swap_used_bytes),
		human_bytes_u64(a, row->swap_total_bytes), human_rate(a, row->swap_in_per_second),
		human_rate(a, row->swap_out_per_second));
}

void host_show(struct out *out)
{
	struct arena *a = out_arena(out);
	const struct host *h = host_now();
	struct host_row row = host_row(h, host_before());

	out_row(out, &host_table, &row);
	show_nodes(out);
	out_host(out, "oomcheck  %s  %s  cgroup %s  memory %s, available %s (%s)%s  swap %s",
		 redact_name(a, NAME_HOST, row.host ? row.host : "-"),
		 human_ns(a, (double)row.interval_ns), cgroup_mode_name(oomcheck.layout.mode),
		 human_bytes_u64(a, row.total_bytes), human_bytes_u64(a, row.available_bytes),
		 human_ratio(a, ratio_of(row.available_bytes, row.total_bytes)),
		 row.is_faked ? " as lxcfs has it" : "", swap_text(a, &row));
	out_host(out, "used  anon %s  cache %s (shared %s)  slab %s, %s of it can go  free %s",
		 human_bytes_u64(a, row.anon_bytes), human_bytes_u64(a, row.file_bytes),
		 human_bytes_u64(a, row.shmem_bytes),
		 human_bytes_u64(a,
				 sum_u64(row.slab_reclaimable_bytes, row.slab_unreclaimable_bytes)),
		 human_bytes_u64(a, row.slab_reclaimable_bytes),
		 human_bytes_u64(a, row.free_bytes));
	out_host(out,
		 "reclaim  kswapd %s, direct %s pages scanned  stalls %s  refaults %s  "
		 "memory pressure some %s, full %s",
		 human_rate(a, row.kswapd_scanned_per_second),
		 human_rate(a, row.direct_scanned_per_second),
		 human_count_u64(a, row.stalls),
		 human_rate(a, row.refaults_per_second), human_ratio(a, row.some_ratio),
		 human_ratio(a, row.full_ratio));
}
