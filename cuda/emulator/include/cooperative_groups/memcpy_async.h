// <cooperative_groups/memcpy_async.h> of the emulator: each thread of a group copies every n-th
// part.
#pragma once

#include "../cooperative_groups.h"
#include "../cuda_pipeline.h"

namespace cooperative_groups {

template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes) {
  auto* const out = reinterpret_cast<char*>(to);
  const auto* const in = reinterpret_cast<const char*>(from);
  const auto both = reinterpret_cast<std::uintptr_t>(out) | reinterpret_cast<std::uintptr_t>(in);
  // Words as large as the addresses allow; what is not aligned to 4 bytes is copied at once.
  const std::size_t word = both % 16 == 0 ? 16 : both % 8 == 0 ? 8 : both % 4 == 0 ? 4 : 1;
  const std::size_t threads = group.size() * word;
  std::size_t at = group.thread_rank() * word;
  for (; at + word <= bytes; at += threads) {
    if (word == 1) {
      out[at] = in[at];
    } else {
      __pipeline_memcpy_async(out + at, in + at, word);
    }
  }
  for (; at < bytes; ++at) out[at] = in[at];  // less than a word
  __pipeline_commit();
}
template <unsigned Left, class Group>
void wait_prior(const Group& group, PRENORM_HERE) {
  __pipeline_wait_prior(Left);
  group.sync(here);
}
template <class Group>
void wait(const Group& group, PRENORM_HERE) {
  wait_prior<0>(group, here);
}

}  // namespace cooperative_groups
