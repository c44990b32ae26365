#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace prenorm::harness {

std::size_t thread_count(std::size_t count, unsigned jobs) {
  return std::clamp<std::size_t>(count, 1, std::max(1u, jobs));
}

unsigned processors() {
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&mine)));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

void in_parallel(std::size_t count, unsigned jobs,
                 const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr first_error;
  const auto take_turns = [&](std::size_t thread) {
    for (std::size_t index = next++; index < count; index = next++) {
      try {
        work(index, thread);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t thread = 1; thread < thread_count(count, jobs); ++thread) {
    others.emplace_back(take_turns, thread);
  }
  take_turns(0);
  for (std::jthread& other : others) other.join();
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace prenorm::harness
