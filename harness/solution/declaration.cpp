#include "solution/declaration.hpp"

namespace prenorm::harness {

std::string Declaration::difference(const protocol::Loaded& loaded) {
  const std::scoped_lock lock(one_);
  const bool available = loaded.unavailable.empty();
  const std::set<std::string> functions(loaded.functions.begin(), loaded.functions.end());
  if (!first_) first_ = Said{loaded.mode, loaded.device, functions, false};
  if (loaded.mode != first_->mode || loaded.device != first_->device) {
    return "says another mode or device than when it was loaded first";
  }
  if (functions != first_->functions) return "has other functions than when it was loaded first";
  if (first_->available && !available) {
    return "could be used when it was loaded first, and now: " + loaded.unavailable;
  }
  first_->available = available;
  return "";
}

bool Declaration::is_known() {
  const std::scoped_lock lock(one_);
  return first_.has_value();
}

}  // namespace prenorm::harness
