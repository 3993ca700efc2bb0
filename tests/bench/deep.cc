/*
 * deep SECONDS: two threads, 12 to 40 frames deep in functions with long names, along a different
 * path each time. For recordings with frame pointers.
 */
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace app {

using First = std::map<std::string, std::vector<std::string>>;
using Second = std::vector<std::map<int, std::string>>;

static volatile unsigned long sink;

template <unsigned N, typename T, typename Other> struct Visitor {
	static __attribute__((noinline)) unsigned long visit(unsigned long path, unsigned depth)
	{
		unsigned long sum = path;

		if (!depth)
			for (unsigned i = 0; i < 2000; i++)
				sum = sum * 6364136223846793005ul + i;
		else if (path & 1)
			sum += Visitor<(N + 1) % 60, T, Other>::visit(path >> 1, depth - 1);
		else
			sum += Visitor<(N + 7) % 60, Other, T>::visit(path >> 1, depth - 1);
		sink = sum;
		return sum + 1;
	}
};

}

static void run(time_t end, unsigned long seed)
{
	while (time(nullptr) < end)
		for (unsigned i = 0; i < 1000; i++) {
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;
			/* few of the ways near the root, more of them near the leaf */
			app::Visitor<0, app::First, app::Second>::visit(seed >> 50 << 12, 12 + (seed >> 40) % 15);
		}
}

int main(int argc, char **argv)
{
	const time_t end = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 1);
	std::thread other(run, end, 1);

	run(end, 2);
	other.join();
	return 0;
}
