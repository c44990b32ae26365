// The HDF5 child, seen from the program: started, asked, and not believed.
#pragma once

#include "catalogue.hpp"
#include "fixture.hpp"
#include "process.hpp"

#include <mutex>

namespace prenorm::harness {

/// Reads one file through a child of its own. Every failure, the child's death and its silence
/// included, is a BadFixture that begins with the file's path.
///
/// Once the child has failed it is not asked again: later requests repeat the message at once.
class FileReader {
 public:
  FileReader(const std::filesystem::path& path, const ReadLimits& limits);

  const Node& catalogue() const { return catalogue_; }

  /// The elements of the dataset /cases/<case>/<group>/<tensor>, of that type and shape.
  Tensor read(const std::string& object, DType dtype, const Shape& shape);

  /// Throws a BadFixture "<path>: <why>".
  [[noreturn]] void fail(const std::string& why) const;

 private:
  std::vector<std::byte> receive_reply(std::size_t most, const std::string& object);

  std::filesystem::path path_;
  ReadLimits limits_;
  std::mutex mutex_;
  std::unique_ptr<Process> process_;
  std::string given_up_;  // why the child is not asked any more
  Node catalogue_;
};

/// Has a child write a new file of that catalogue; `datasets` are its datasets' elements in order.
/// The file appears in one step. Throws std::runtime_error.
void write_file(const std::filesystem::path& path, const Node& root,
                std::span<const Tensor* const> datasets);

/// Has a child set attributes in a copy of the file, which then takes the file's place.
/// Throws std::runtime_error, and leaves the old file as it was.
void change_attributes(const std::filesystem::path& path, const Node& root);

}  // namespace prenorm::harness
