// The times of one row, in a few numbers.
#pragma once

#include <vector>

namespace prenorm::harness::bench {

struct Times {
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0;  // seconds
  std::size_t samples = 0;

  /// Half the distance of the quartiles over the median: 0.02 is a quiet measurement.
  double spread() const { return median > 0 ? (q3 - q1) / 2 / median : 0; }
};

/// Quartiles by linear interpolation between the sorted samples (as numpy.percentile does); all 0
/// where there is no sample.
Times summarize_times(std::vector<double> seconds);

}  // namespace prenorm::harness::bench
