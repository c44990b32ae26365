// What a submission's kernels do to memory, counted by the emulator: advice, without points.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace prenorm::harness {

/// One kernel in one call, or several launches of it that are alike.
struct KernelProfile {
  std::string kernel;
  std::uint64_t launches = 0;
  std::uint64_t requests = 0, sectors = 0, ideal_sectors = 0;  // of global memory
  std::uint64_t shared_requests = 0, wavefronts = 0, ideal_wavefronts = 0;
  std::string worst;  // the line that wastes most: "solution.cu:28: 32 lanes read ..."; or empty

  std::uint64_t moved_bytes() const { return 32 * sectors; }
};

/// The kernels of one call.
struct CallProfile {
  std::string problem, case_name;
  std::uint64_t least_bytes = 0;  // inputs and outputs, each once
  std::vector<KernelProfile> kernels;

  std::uint64_t moved_bytes() const;
};

/// `counts` is what the submission's library says it has counted: nobody vouches for it. Empty
/// where it cannot be understood.
std::vector<KernelProfile> kernel_profiles(const std::string& counts);

/// For a terminal; empty where there are none.
std::string profiles_text(const std::vector<CallProfile>& calls, bool colour);

/// For the page: null where there are none.
Json profiles_values(const std::vector<CallProfile>& calls);

/// For a report in JSON.
Json profiles_object(const std::vector<CallProfile>& calls);

/// What the figures mean, and that they are advice.
extern const char* const profiles_note;

PRENORM_JSON(KernelProfile, kernel, launches, requests, sectors, ideal_sectors, shared_requests,
             wavefronts, ideal_wavefronts, worst)
PRENORM_JSON(CallProfile, problem, case_name, least_bytes, kernels)

}  // namespace prenorm::harness
