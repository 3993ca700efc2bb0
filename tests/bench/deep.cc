// deep SECONDS THREADS: a C++ program with deep, ever different stacks under long names, for recordings:
// 256 instances of a template call each other at random, 16 to 30 deep, through inlined helpers.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace app {

struct Policy {};
template<typename T, int N> struct Node { T value; };

static double cpu_seconds()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

struct Walk {
	uint64_t state;
	unsigned left;
	volatile uint64_t sink;

	inline __attribute__((always_inline)) unsigned below(unsigned n)
	{
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		return unsigned(state >> 33) % n;
	}
};

typedef void (*Step)(Walk &);
extern const Step steps[256];

namespace detail {
inline __attribute__((always_inline)) void spend(Walk &w, unsigned turns)
{
	for (unsigned i = 0; i < turns; i++)
		w.sink = w.sink + i * w.state;
}

inline __attribute__((always_inline)) void descend(Walk &w)
{
	if (w.left--)
		steps[w.below(256)](w);
	else
		spend(w, 20000);
}
}

template<typename P, int N> struct Visitor {
	static __attribute__((noinline)) void visit(Walk &w)
	{
		Node<uint64_t, N> node = { w.state };

		detail::descend(w);
		w.sink = w.sink + node.value;
	}
};

#define FOUR(n) Visitor<Policy, n>::visit, Visitor<Policy, n + 1>::visit, Visitor<Policy, n + 2>::visit, Visitor<Policy, n + 3>::visit
#define SIXTEEN(n) FOUR(n), FOUR(n + 4), FOUR(n + 8), FOUR(n + 12)
#define SIXTY_FOUR(n) SIXTEEN(n), SIXTEEN(n + 16), SIXTEEN(n + 32), SIXTEEN(n + 48)
const Step steps[256] = { SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192) };

static void work(double seconds, uint64_t seed)
{
	Walk w = { seed, 0, 0 };

	for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;) {
		w.left = 16 + w.below(15);
		detail::descend(w);
	}
}

}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 1;
	const int count = argc > 2 ? atoi(argv[2]) : 1;
	std::vector<std::thread> threads;

	for (int i = 0; i < count; i++)
		threads.emplace_back(app::work, seconds, 88172645463325252u + unsigned(i));
	for (std::thread &t : threads)
		t.join();
	return 0;
}
