// How kernels of Hopper are tested: in the kit on a device, and on the CPU with a model of its
// instructions (hopper/).
#pragma once

#if !defined(__CUDACC__)
#include "model.hpp"
#endif

#include <string>
#include <utility>

namespace prenorm::cuda {

/// Calls work(what): once on a device; by the model with copies and products as early and as late
/// as they may be.
template <class Work>
void at_all_times(Work work) {
#if defined(__CUDACC__)
  work("");
#else
  using hopper::When;
  for (const auto& [copies, products] :
       {std::pair{When::early, When::early}, {When::early, When::late}, {When::late, When::late}}) {
    hopper::copies = copies;
    hopper::products = products;
    work(std::string(copies == When::late ? ", late copies" : "") +
         (products == When::late ? ", late products" : ""));
  }
#endif
}

}  // namespace prenorm::cuda
