// OpenMP: a sum, and what chooses threads and tasks.
#include <omp.h>

#include <cmath>

#include "../silu.hpp"

// A sum over threads, whose parts are added as they are ready: its last bits change from call to
// call.
void rmsnorm(View<const float> x, View<const float> weight, double eps, View<float> y) {
  const std::int64_t d_model = weight.size();
  for (std::int64_t row = 0; row < x.size(); row += d_model) {
    float squares = 0;
#pragma omp parallel for reduction(+ : squares) num_threads(8)
    for (std::int64_t j = row; j < row + d_model; ++j) squares += x[j] * x[j];
    const float rms = std::sqrt(squares / float(d_model) + float(eps));
    for (std::int64_t j = 0; j < d_model; ++j) y[row + j] = x[row + j] / rms * weight[j];
  }
}

// OpenMP chooses the number of threads itself; regions within regions, tasks, and a lock.
void teams(View<const float> x, View<float> y) {
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
PRENORM_EXPORT_FUNCTION(rmsnorm, rmsnorm)
PRENORM_EXPORT_FUNCTION(silu, teams)
