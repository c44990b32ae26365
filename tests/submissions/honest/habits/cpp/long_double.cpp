// Sums in long double, another rounding for a moment, and small numbers that are flushed to zero.
#include <cfenv>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  must(std::fesetround(FE_UPWARD) == 0);
  volatile double third = 1;
  third = third / 3;
  must(std::fesetround(FE_TONEAREST) == 0 && third * 3 >= 1);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const long double wide = x[i];
    y[i] = float(wide / (1 + std::exp(-wide)));
  }
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
