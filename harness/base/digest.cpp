#include "base/digest.hpp"

#include <cerrno>
#include <fmt/ranges.h>
#include <fstream>
#include <openssl/evp.h>
#include <stdexcept>
#include <system_error>

namespace prenorm::harness {
namespace {

void require(bool good) {
  if (!good) throw std::runtime_error("SHA-256 is not available");
}

}  // namespace

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
};

Digest::Digest() : state_(std::make_unique<State>()) {
  require(state_->context != nullptr && EVP_DigestInit(state_->context, EVP_sha256()) == 1);
}
Digest::~Digest() { EVP_MD_CTX_free(state_->context); }

void Digest::add_bytes(std::span<const char> bytes) {
  require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Digest& Digest::add(std::string_view text) {
  const std::string size = std::to_string(text.size()) + ":";
  add_bytes(size);
  add_bytes(text);
  return *this;
}

Digest& Digest::add_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Digest bytes;
  std::array<char, 65536> part;
  while (stream.read(part.data(), part.size()), stream.gcount() > 0) {
    bytes.add_bytes(std::span(part).first(static_cast<std::size_t>(stream.gcount())));
  }
  if (!stream.eof()) throw std::system_error(errno, std::generic_category(), file.string());
  return add(bytes.hex());
}

std::vector<unsigned char> Digest::finish() {
  std::vector<unsigned char> bytes(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  require(EVP_DigestFinal(state_->context, bytes.data(), &size) == 1);
  bytes.resize(size);
  return bytes;
}

std::string Digest::hex() { return fmt::format("{:02x}", fmt::join(finish(), "")); }

std::string Digest::base64() {
  const std::vector<unsigned char> bytes = finish();
  std::vector<unsigned char> text((bytes.size() + 2) / 3 * 4 + 1);  // and a zero
  EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {text.begin(), text.end() - 1};
}

}  // namespace prenorm::harness
