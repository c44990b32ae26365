// What `verify --save` writes.
#pragma once

#include "fixture/selection.hpp"
#include "fixture/verdict.hpp"

#include <map>
#include <string>
#include <vector>

namespace prenorm::harness {

/// The file names without folder and extension, made unique.
std::vector<std::string> stems_of(const std::vector<File>& files);

/// Collects what solutions return for one fixture file, and writes a file for each solution:
/// <folder>/<stem>.<solution>.h5.
class Saver {
 public:
  Saver(const File& file, std::string stem, std::string folder, bool only_failing)
      : file_(file),
        stem_(std::move(stem)),
        folder_(std::move(folder)),
        only_failing_(only_failing) {}

  /// The outputs of a case, if they are to be saved.
  void keep(const Case& info, const Result& result, std::vector<Tensor> outputs);
  void write() const;

 private:
  const File& file_;
  std::string stem_, folder_;
  bool only_failing_;
  std::map<std::string, OutputsFile> saved_;
};

}  // namespace prenorm::harness
