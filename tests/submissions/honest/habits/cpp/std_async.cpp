// std::async, a promise, and an exception that crosses threads and is caught.
#include <future>
#include <stdexcept>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  const std::int64_t half = x.size() / 2;
  auto first = std::async(std::launch::async, [=] { silu(x, y, 0, half); });
  auto second = std::async(std::launch::deferred, [=] { silu(x, y, half, x.size()); });
  auto failing = std::async(std::launch::async, []() -> int { throw std::domain_error("no"); });
  first.get();
  second.get();
  bool caught = false;
  try {
    failing.get();
  } catch (const std::domain_error&) {
    caught = true;
  }
  must(caught);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
