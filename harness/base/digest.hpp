// SHA-256 of texts and files, to tell whether they have changed.
#pragma once

#include "base/paths.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) = delete;  // nor copied

  /// Adds a text with its length, so that "ab", "c" differs from "a", "bc".
  Digest& add(std::string_view text);
  /// Adds bytes without their number.
  void add_bytes(std::span<const char> bytes);
  /// Adds a file's content as one text. Throws std::system_error.
  Digest& add_file(const fs::path& file);

  /// 64 hexadecimal digits; nothing may be added afterwards.
  std::string hex();
  /// The same in base64, as a page's Content-Security-Policy wants it.
  std::string base64();

 private:
  std::vector<unsigned char> finish();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace prenorm::harness
