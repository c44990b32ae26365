// What is timed: calls at the shapes of real models, as a data file lists them (shapes.json).
//
// The file names problems; this code does not. A problem's signature comes from its fixture.
#pragma once

#include "base/json.hpp"
#include "fixture/fixture.hpp"

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace prenorm::harness::bench {

/// The file of shapes cannot be used; the message begins with its path and names the entry.
struct BadShapes : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One entry of the file, as written.
struct ShapeEntry {
  struct Input {
    std::vector<std::string> extents;  // names of dims, or numbers
    std::string draw;                  // as in a fixture, or one of bench's own: values.hpp
  };

  std::string name;     // of the shape: what --shape selects
  std::string problem;  // what is called
  std::string model;    // where the shape comes from
  std::string set;      // "cpu" or "device": the kind of machine that it is sized for
  std::vector<DType> dtypes;
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, Input> inputs;
  std::map<std::string, Scalar> scalars;
  std::string bytes;             // an expression, or "io": every input read, every output written
  std::string flops;             // an expression; a multiplication with an addition counts as 2
  bool product_ceiling = false;  // the rate reached here is the ceiling of all products
};

/// Reads the file. Throws BadShapes.
std::vector<ShapeEntry> read_entries(const std::filesystem::path& path);

/// One call to be timed: an entry in one dtype, held against the problem's signature.
struct Workload {
  ShapeEntry entry;
  DType dtype = DType::float32;
  Signature signature;
  Case info;  // types and draws of the inputs, scalars, binding, outputs
  double bytes_read = 0, bytes_written = 0;
  double bytes = 0;  // that must move: their sum unless the entry says otherwise
  double flops = 0;

  /// "rows_4096 float32": what a row of results is known by.
  std::string key() const;
};

/// Throws BadShapes where the entry does not fit the signature.
Workload bind_entry(const ShapeEntry& entry, DType dtype, const Signature& signature);

/// What two runs must agree on to be compared: problem, dtype, shapes and draws of the inputs,
/// scalars.
Json identity(const Workload& workload);

}  // namespace prenorm::harness::bench
