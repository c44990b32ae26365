// Threads for each call, as many as there are processors, and one with a stack of its own size.
#include <pthread.h>

#include <thread>
#include <vector>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  const std::int64_t count = std::max(2u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < count; ++t) {
    threads.emplace_back([=] { silu(x, y, x.size() * t / count, x.size() * (t + 1) / count); });
  }
  for (std::thread& thread : threads) thread.join();

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  must(pthread_attr_setstacksize(&attributes, 64 << 20) == 0);
  pthread_t large;
  int answer = 0;
  must(pthread_create(
           &large, &attributes, [](void* to) { return *static_cast<int*>(to) = 1, to; }, &answer) ==
       0);
  pthread_join(large, nullptr);
  must(answer == 1);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
