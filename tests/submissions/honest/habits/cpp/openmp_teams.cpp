// OpenMP chooses the number of threads itself; regions within regions, tasks, and a lock.
#include <omp.h>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  omp_set_dynamic(1);
  omp_set_num_threads(3);
  omp_set_max_active_levels(2);
  std::int64_t done = 0;
  const std::int64_t half = x.size() / 2;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    silu(x, y, 0, half);
#pragma omp task
    {
#pragma omp parallel for num_threads(2) schedule(guided)
      for (std::int64_t i = half; i < x.size(); ++i) {
        y[i] = silu(x[i]);
#pragma omp critical
        ++done;
      }
    }
  }
  must(done == x.size() - half && omp_get_wtime() > 0);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
