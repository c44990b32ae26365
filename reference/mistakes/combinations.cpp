// Several known mistakes at once.
#include "mistakes.hpp"

/// Computes a problem with mistakes that are named together, "rope__halves+theta_fixed". Not
/// implemented where these do not combine.
extern "C" PRENORM_API int prenorm_combination(const char* function, const prenorm_call* call) {
  return prenorm::detail::guard(call, [&] {
    const std::string name = function;
    const std::size_t end = std::min(name.find("__"), name.size());
    const auto problem = prenorm::mistakes::combinations().find(name.substr(0, end));
    if (problem == prenorm::mistakes::combinations().end() || end == name.size()) {
      throw prenorm::not_implemented("no such combination: " + name);
    }
    problem->second(name.substr(end + 2), *call);
  });
}
