// For each byte of standard input: the ns that a cache line takes from one core to another and back, on a line.
// The arguments are the numbers of both cores.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int BATCHES = 51, WARM_UP = 25, TRIPS = 100;  // trips of a batch
alignas(64) std::atomic<int> line;

void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set)) std::exit(1);
}

void await(int value) {
    while (line.load(std::memory_order_acquire) != value) {
    }
}

void answer(int core) {
    pin(core);
    for (int trip = 0; trip < BATCHES * TRIPS; trip++) {
        await(2 * trip + 1);
        line.store(2 * trip + 2, std::memory_order_release);
    }
}

// The median of the batches after the first ones: a core that another program takes for a while is in few of them.
double round_trip_ns(int other) {
    line = 0;
    std::thread thread(answer, other);
    std::array<double, BATCHES> trip_ns;
    for (int batch = 0; batch < BATCHES; batch++) {
        const auto start = std::chrono::steady_clock::now();
        for (int trip = batch * TRIPS; trip < (batch + 1) * TRIPS; trip++) {
            line.store(2 * trip + 1, std::memory_order_release);
            await(2 * trip + 2);
        }
        const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
        trip_ns[batch] = taken.count() / TRIPS;
    }
    thread.join();
    const auto middle = trip_ns.begin() + (BATCHES + WARM_UP) / 2;
    std::nth_element(trip_ns.begin() + WARM_UP, middle, trip_ns.end());
    return *middle;
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 3) return 2;
    pin(std::atoi(arguments[1]));
    for (char byte; read(0, &byte, 1) == 1;) {
        std::printf("%.0f\n", round_trip_ns(std::atoi(arguments[2])));
        std::fflush(stdout);
    }
}
