// Exceptions that are thrown and caught within the call, through many frames.
#include <cfenv>
#include <new>
#include <string>
#include <vector>

#include "../silu.hpp"

int descend(int depth) {
  const std::vector<int> kept(10);
  if (depth == 0) throw std::out_of_range("the bottom");
  return descend(depth - 1) + int(kept.size());
}

template <class Error, class Work>
bool throws(Work work) {
  try {
    work();
  } catch (const Error&) {
    return true;
  }
  return false;
}

void run(View<const float> x, View<float> y) {
  must(throws<std::out_of_range>([] { descend(1000); }));
  must(throws<std::invalid_argument>([] { std::stoi("no number"); }));
  must(throws<std::bad_alloc>([] { std::vector<double>(std::size_t(1) << 50); }));
  std::feclearexcept(FE_ALL_EXCEPT);
  silu(x, y, 0, x.size());
  must(std::fetestexcept(FE_DIVBYZERO) == 0);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
