// Fresh random inputs for every timed call, made much faster than they are drawn.
#pragma once

#include "bench/workload.hpp"

#include <random>

namespace prenorm::harness::bench {

/// Throws SignatureError where the text is neither a fixture's draw nor one of
///   arange                 0, 1, 2, ... along the last axis
///   lower_triangle         true where j <= i, of the last two axes [i, j]: a causal mask
///   block_diagonal(count)  true where query i and key j belong to the same document: that many of
///                          equal length packed into one sequence, the last one takes the rest
/// whose bounds the workload has.
void check_draw(const std::string& text, const Workload& workload);

/// Values come from pools that are drawn once, by draw(): a tensor is filled with stretches of a
/// pool that begin at random places, so that each call has others, at the speed of copying.
class Values {
 public:
  explicit Values(std::uint64_t seed);

  /// The inputs of a call, in signature order; nothing for an absent one. Throws SignatureError.
  std::vector<std::optional<Tensor>> fresh(const Workload& workload);

 private:
  Tensor fresh(const InputInfo& input, const Workload& workload);
  const Tensor& pool(const InputInfo& input, const Workload& workload);

  std::mt19937_64 random_;
  std::map<std::string, Tensor> pools_;
};

}  // namespace prenorm::harness::bench
