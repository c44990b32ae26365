// SHA-256 of texts and files: whether two things are the same.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace prenorm::harness {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  /// A text with its length: "ab", "c" is not "a", "bc".
  Digest& add(std::string_view text);
  /// Bytes as they come.
  void add_bytes(std::span<const char> bytes);
  /// A file's bytes, as one text. Throws std::system_error.
  Digest& add_file(const std::filesystem::path& file);

  /// 64 hexadecimal digits; nothing may be added afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace prenorm::harness
