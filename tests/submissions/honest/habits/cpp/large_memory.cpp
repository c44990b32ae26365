// A large array on the stack, a deep recursion, and 100 MB that are written and freed.
#include <vector>

#include "../silu.hpp"

int depth(int count) {
  volatile char kept[64] = {};
  return count == 0 ? kept[0] : 1 + depth(count - 1);
}

void run(View<const float> x, View<float> y) {
  volatile char large[4 << 20];
  large[0] = 1;
  large[sizeof large - 1] = 1;
  must(large[0] == 1 && depth(10'000) == 10'000);
  const std::vector<float> table(25'000'000, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = silu(x[i]) * table[std::size_t(i)];
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
