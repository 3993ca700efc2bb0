/* The floor: opens, reads and closes schedstat and stat of every thread, twice, and does nothing
 * with them. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char buffer[65536];

static void read_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (read(fd, buffer, sizeof(buffer)) < 0)
		perror(name);
	close(fd);
}

static void read_threads(const char *pid)
{
	char path[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	DIR *tasks = opendir(path);

	while (tasks && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%.20s/schedstat", entry->d_name);
			read_file(dirfd(tasks), path);
			snprintf(path, sizeof(path), "%.20s/stat", entry->d_name);
			read_file(dirfd(tasks), path);
		}
	if (tasks)
		closedir(tasks);
}

int main(void)
{
	for (int round = 0; round < 2; round++) {
		DIR *proc = opendir("/proc");
		struct dirent *entry;

		while (proc && (entry = readdir(proc)))
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
				read_threads(entry->d_name);
		if (proc)
			closedir(proc);
	}
	return 0;
}
