// What a step of confinement does where the system refuses it.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace prenorm::sandbox {

/// Throws std::system_error, by errno, unless it is good.
inline void check(bool good, const std::string& what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace prenorm::sandbox
