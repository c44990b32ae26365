// <cooperative_groups/scan.h> of the emulator: over the lanes of a group, in their order.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

/// What join makes of the values of the lanes up to this one.
template <class Group, class T, class Join>
T inclusive_scan(const Group& group, T value, Join join) {
  T result = value;
  for (unsigned rank = group.thread_rank(), step = 1; step < group.size(); step *= 2) {
    const T other = group.shfl_up(result, step);
    if (rank >= step) result = join(other, result);
  }
  return result;
}
template <class Group, class T>
T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, [](T a, T b) { return a + b; });
}
/// Of the lanes before this one; the first has T{}.
template <class Group, class T, class Join>
T exclusive_scan(const Group& group, T value, Join join) {
  const T before = group.shfl_up(inclusive_scan(group, value, join), 1);
  return group.thread_rank() == 0 ? T{} : before;
}
template <class Group, class T>
T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, [](T a, T b) { return a + b; });
}

}  // namespace cooperative_groups
