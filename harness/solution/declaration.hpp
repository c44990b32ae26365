// What a library says of itself when it is loaded.
#pragma once

#include "worker/protocol.hpp"

#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace prenorm::harness {

/// The first load of a library decides which functions it has, its device and its mode. Every later
/// one, by whichever Solution, must say the same. Any number of threads may ask.
class Declaration {
 public:
  /// How this load differs from the first one; empty where it does not, or is the first.
  std::string difference(const protocol::Loaded& loaded);
  /// Whether there was a first one.
  bool is_known();

 private:
  struct Said {
    std::string mode;
    std::int32_t device = 0;
    std::set<std::string> functions;
    bool available = false;  // at least once
  };

  std::mutex one_;
  std::optional<Said> first_;
};

}  // namespace prenorm::harness
