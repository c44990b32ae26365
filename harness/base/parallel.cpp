#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <sched.h>
#include <string_view>
#include <thread>

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

std::vector<std::string> processor_shares(std::size_t count) {
  std::vector<std::string> shares(count);
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return shares;
  std::vector<std::string> processors;
  for (std::size_t each = 0; each < CPU_SETSIZE; ++each) {
    if (CPU_ISSET(each, &mine)) processors.push_back(std::to_string(each));
  }
  for (std::size_t i = 0; i < std::max(count, processors.size()); ++i) {
    // Processors with neighbouring numbers share caches.
    const std::size_t share = count < processors.size() ? i * count / processors.size() : i;
    const std::string& processor = processors[i % processors.size()];
    shares[share] += (shares[share].empty() ? "" : ",") + processor;
  }
  return shares;
}

void take_processor_share() {
  const char* told = std::getenv(processor_share);
  cpu_set_t share;
  CPU_ZERO(&share);
  for (std::string_view left = told == nullptr ? "" : told; !left.empty();) {
    std::size_t processor = 0;
    const auto [end, bad] = std::from_chars(left.data(), left.data() + left.size(), processor);
    if (bad != std::errc{} || processor >= CPU_SETSIZE) return;
    CPU_SET(processor, &share);
    left.remove_prefix(static_cast<std::size_t>(end - left.data()));
    if (left.starts_with(',')) left.remove_prefix(1);
  }
  // Where it fails, as when a processor was taken from this machine, all are used.
  if (CPU_COUNT(&share) > 0) ::sched_setaffinity(0, sizeof share, &share);
}

}  // namespace prenorm::harness
