// Which Python function solves which problem, and how its arguments are made of a call's: data
// beside the rubrics (fixtures/rubrics/adapters-*.toml).
#pragma once

#include "signature.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace prenorm::harness {

class Adapters {
 public:
  /// No problem has one.
  Adapters() = default;
  /// Reads the file; `signatures` are those of the problems. Throws std::invalid_argument that
  /// names the file, the problem and what is wrong: a name that the signature has not.
  Adapters(const std::filesystem::path& file, const std::map<std::string, std::string>& signatures);

  /// For the Python worker: the functions, with places in the call for names. JSON.
  const std::string& json() const { return json_; }
  bool empty() const { return json_.empty(); }

 private:
  std::string json_;
};

}  // namespace prenorm::harness
