// Are the outputs of a timed call right? A wrong answer has no speed.
#pragma once

#include "bench/workload.hpp"
#include "solution/solution.hpp"

#include <random>

namespace prenorm::harness::bench {

/// What is wrong with outputs, against the reference in float64 on the same inputs.
///
/// This is to catch work that was left out, not the last digit: that is what fixtures are for. The
/// tolerance is atol = c rms(expected) and rtol = c, with c = 1024 eps(T) for float64 and float32
/// (sums of thousands of terms), 8 eps(T) for 16-bit types, and 8 * 2^-10 under tf32. NaN fails.
class Checker {
 public:
  explicit Checker(std::uint64_t seed);

  /// Computes the truth for these inputs: all of it where that takes no more than about a second,
  /// else some rows of the batch picked at random; where not even one row can be had so, all of it
  /// for the first call of a workload and nothing (`any()` is false) for the others.
  ///
  /// Throws std::runtime_error where the reference fails.
  void prepare(const Workload& workload, const std::vector<std::optional<Tensor>>& inputs,
               bool first, Solution& truth);
  bool any() const { return !expected_.empty(); }

  /// Empty where they are right, else one line.
  std::string complaint(const std::vector<Tensor>& outputs, const std::string& mode) const;

 private:
  std::mt19937_64 random_;
  const Workload* workload_ = nullptr;
  std::vector<std::int64_t> rows_;  // of the batch; empty: all
  std::vector<Tensor> expected_;
};

/// The rows of the batch that a tensor holds for those of the whole batch, one behind the other:
/// [..., dims] becomes [rows, dims]. A tensor without batch axes of its own stays as it is.
Tensor rows_of(const Tensor& tensor, std::size_t named_axes, const Shape& batch,
               const std::vector<std::int64_t>& rows);

}  // namespace prenorm::harness::bench
