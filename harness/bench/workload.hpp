// What is timed: calls at the shapes of real models, as a data file lists them (shapes.json).
//
// The file names problems; this code does not. A problem's signature comes from its fixture.
#pragma once

#include "base/json.hpp"
#include "base/parallel.hpp"
#include "fixture/fixture.hpp"
#include "fixture/selection.hpp"

#include <map>
#include <memory>
#include <random>
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
    std::string draw;                  // as in a fixture, or one of bench's own: check_draw()
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
std::vector<ShapeEntry> read_entries(const fs::path& path);

/// One call to be timed: an entry in one dtype, checked against the problem's signature.
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

/// What is wrong with the text of a count of operations or bytes, "2*rows*d_in*d_out".
struct ExpressionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value of an expression of numbers, names, + - * / and parentheses, with the usual
/// precedence. Throws ExpressionError, which quotes the text, for a name that is not in `names`.
double evaluate(const std::string& text, const std::map<std::string, double>& names);

struct BenchOptions {
  Selection selection;  // problems, dtypes, fixtures
  std::vector<std::string> shapes, solutions, pythons, peers;
  std::string file, set;
  int samples = 11;
  unsigned threads = processors();
  double timeout = 600;
  std::uint64_t seed = 0;
  bool compile = false, in_process = false;
};

/// Throws UsageError for a selected shape, problem or dtype that no entry has.
void check_names(const std::vector<ShapeEntry>& entries, const BenchOptions& options);

using Workloads = std::vector<std::shared_ptr<const Workload>>;

/// The entries of the file in each of their dtypes, checked against the signatures of the fixtures.
/// In the order of the options' shapes, then of the file.
/// Throws UsageError for a file that cannot be used, and for a selected name that it does not have.
Workloads read_workloads(const BenchOptions& options);

bool is_selected(const Workload& workload, const BenchOptions& options);

/// Throws SignatureError where the text is neither a fixture's draw nor one of
///   arange                 0, 1, 2, ... along the last axis
///   lower_triangle         true where j <= i, of the last two axes [i, j]: a causal mask
///   block_diagonal(count)  true where query i and key j belong to the same document: that many of
///                          equal length packed into one sequence, the last one takes the rest
/// whose bounds the workload has.
void check_draw(const std::string& text, const Workload& workload);

/// Values come from pools that are drawn once, by draw(): a tensor is filled with stretches of a
/// pool that begin at random places, so that each call has others, at the speed of copying.
class Values {
 public:
  explicit Values(std::uint64_t seed);

  /// The inputs of a call, in signature order; nothing for an absent one. Throws SignatureError.
  Inputs fresh(const Workload& workload);

 private:
  Tensor fresh(const InputInfo& input, const Workload& workload);
  const Tensor& pool(const InputInfo& input, const Workload& workload);

  std::mt19937_64 random_;
  std::map<std::string, Tensor> pools_;
};

}  // namespace prenorm::harness::bench
