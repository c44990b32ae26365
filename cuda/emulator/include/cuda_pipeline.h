// <cuda_pipeline.h> of the emulator: copies to shared memory that are made when their thread waits
// for them.
#pragma once

#include "../warp_matrix.hpp"
#include "cuda_runtime.h"

/// Of 4, 8 or 16 bytes, the last `zeros` of which become 0.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes,
                                    std::size_t zeros = 0) {
  prenorm::emulator::cp_async(to, from, static_cast<unsigned>(bytes - zeros),
                              static_cast<unsigned>(bytes));
}
inline void __pipeline_commit() { prenorm::emulator::commit_copies(); }
/// Until all but the newest groups are there.
inline void __pipeline_wait_prior(std::size_t groups) {
  prenorm::emulator::wait_for_copies(static_cast<int>(groups));
}
