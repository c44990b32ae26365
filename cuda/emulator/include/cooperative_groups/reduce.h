// <cooperative_groups/reduce.h> of the emulator: every lane gets the group's result.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

template <class T, class Join>
T reduce(const lanes& group, T value, Join join, PRENORM_HERE) {
  T result = group.shfl(value, 0, here);
  for (unsigned rank = 1; rank < group.size(); ++rank) {
    result = join(result, group.shfl(value, rank, here));
  }
  return result;
}

}  // namespace cooperative_groups
