// A user's error on the command line.
#pragma once

#include <stdexcept>

namespace prenorm::harness {

/// An invalid option or argument, or a path that cannot be used: one line on standard error, exit
/// code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace prenorm::harness
