// Honest variants of how sums are taken: the reference's own text, with another order.
#pragma once

#include "../sums.hpp"

#include <prenorm/prenorm.h>

namespace prenorm::honest {

/// Calls an exported function while the textbook sums go by `order`.
inline int with_order(reference::SumOrder order, prenorm_function function,
                      const prenorm_call* call) {
  const reference::SumOrder before = reference::sum_order;
  reference::sum_order = order;
  const int returned = function(call);
  reference::sum_order = before;
  return returned;
}

}  // namespace prenorm::honest
