#include "grade/digest.hpp"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sha2.h>
#include <system_error>

namespace prenorm::harness {

struct Digest::State {
  SHA2_CTX context;
};

Digest::Digest() : state_(std::make_unique<State>()) { SHA256Init(&state_->context); }
Digest::~Digest() = default;

void Digest::add_bytes(std::span<const char> bytes) {
  SHA256Update(&state_->context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Digest& Digest::add(std::string_view text) {
  const std::string size = std::to_string(text.size()) + ":";
  add_bytes(size);
  add_bytes(text);
  return *this;
}

Digest& Digest::add_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Digest bytes;
  std::array<char, 65536> part;
  while (stream.read(part.data(), part.size()), stream.gcount() > 0) {
    bytes.add_bytes(std::span(part).first(static_cast<std::size_t>(stream.gcount())));
  }
  if (!stream.eof()) throw std::system_error(errno, std::generic_category(), file.string());
  return add(bytes.hex());
}

std::string Digest::hex() {
  std::string digits(SHA256_DIGEST_STRING_LENGTH, '\0');
  SHA256End(&state_->context, digits.data());
  digits.resize(SHA256_DIGEST_STRING_LENGTH - 1);  // the end of a C string
  return digits;
}

}  // namespace prenorm::harness
