// What tests ask of texts, of the fields of JSON, and of what is thrown; files of text.
#pragma once

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace prenorm::harness::testing {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

inline void check_has(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    BOOST_TEST(contains(text, part), text << "\n-- has not: " << part);
  }
}

inline void check_lacks(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    BOOST_TEST(!contains(text, part), text << "\n-- has: " << part);
  }
}

/// A file, with the folders that it lies in.
inline void write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Each of the wanted members has its value; the object may have more.
template <class Json>
void check_members(const Json& object, const Json& wanted) {
  for (const auto& [key, value] : wanted.items()) {
    BOOST_TEST_CONTEXT(key) { BOOST_TEST(object.value(key, Json("absent")) == value); }
  }
}

/// The message of the Error that the call throws; empty: it throws nothing.
template <class Error>
std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace prenorm::harness::testing
