/* main() of a fuzz target without a fuzzer: every file given, or found in a folder given, once. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed, failed;

/* A buffer of exactly the file's size, so that one byte too far is seen. */
static void replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1);

	if (!file || !data || size > INPUT_MAX || fread(data, 1, size, file) != size) {
		perror(path);
		failed++;
	} else {
		LLVMFuzzerTestOneInput(data, size);
		replayed++;
	}
	free(data);
	if (file)
		fclose(file);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay_path(const char *path)
{
	struct stat st;
	struct dirent **entries;

	if (stat(path, &st)) {
		perror(path);
		failed++;
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		replay_file(path, (size_t)st.st_size);
		return;
	}
	int n = scandir(path, &entries, not_hidden, alphasort);

	for (int i = 0; i < n; i++) {
		char *inside;

		if (asprintf(&inside, "%s/%s", path, entries[i]->d_name) < 0)
			abort();
		replay_path(inside);
		free(inside);
		free(entries[i]);
	}
	if (n < 0)
		perror(path), failed++;
	else
		free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_path(argv[i]);
	printf("%u replayed, %u unreadable\n", replayed, failed);
	return failed || !replayed;
}
