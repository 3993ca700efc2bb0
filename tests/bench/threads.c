/* Sleeping threads to be looked at: threads COUNT. Prints "ready" and sleeps until it is ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 1; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &small, sleep_on, NULL) != 0) {
			fprintf(stderr, "threads: no more than %d\n", i);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	sleep_on(NULL);
	return 0;
}
