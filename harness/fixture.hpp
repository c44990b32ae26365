// Fixture files: cases of a problem, read with suspicion.
//
// libhdf5 runs in a child process (hdf5_child.cpp) with limits on time and memory, and hands back
// raw bytes; what they mean is decided here. The format: README.md, "Fixture files".
#pragma once

#include "signature.hpp"

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace prenorm::harness {

struct Sandbox;

/// Why a file cannot be used; the message begins with the file's path and names the object in it.
struct BadFixture : std::runtime_error {
  explicit BadFixture(const std::string& why, std::string of = "")
      : std::runtime_error(why), problem(std::move(of)) {}

  std::string problem;  // whose file it is; empty where that cannot be read
};

/// The largest accepted difference: |y - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
};

struct InputInfo {
  TensorType type;
  std::string draw;  // how to draw fresh values; empty: the stored ones are kept
};

struct OutputInfo {
  Shape shape;                         // stored as float64
  DType dtype = DType::float64;        // what a solution must return
  std::optional<Tolerance> tolerance;  // absent only where Requirements allow it
  std::optional<Tolerance> tolerance_tf32;
  std::string reason;
};

struct Case {
  std::string name;
  std::string description;
  std::optional<std::string> error;  // present: the solution must refuse; there are no outputs
  std::vector<std::string> redrawn_sizes;        // attribute dims
  std::vector<Scalar> scalars;                   // in signature order, defaults filled in
  std::vector<std::optional<InputInfo>> inputs;  // in signature order; nothing: absent
  std::vector<OutputInfo> outputs;               // in signature order; empty for an error case
  Binding binding;

  /// T of this case.
  DType dtype() const { return binding.element_type; }
  /// Elements of all inputs and outputs together.
  std::int64_t elements() const;
};

/// An eighth of this machine's memory, at most 4 GiB: a call takes about three times its tensors,
/// in several processes, and a crafted file of a few KB may claim any size.
std::size_t most_case_bytes();

struct ReadLimits {
  double seconds = 20;                    // for one request to the child
  std::size_t bytes = most_case_bytes();  // for one case's tensors; the child may take some more
  const Sandbox* sandbox = nullptr;       // for a stranger's file: where the child runs
};

struct Requirements {
  bool tolerances = true;  // false: outputs may lack atol and rtol (files not yet calibrated)
};

/// An opened fixture file. Its cases' data are read one case at a time.
class Fixture {
 public:
  /// Opens and checks everything but the tensors' values. Throws BadFixture.
  explicit Fixture(const std::filesystem::path& path, const ReadLimits& limits = {},
                   const Requirements& requirements = {});
  ~Fixture();
  Fixture(Fixture&&) noexcept;
  Fixture& operator=(Fixture&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  const std::string& problem() const { return problem_; }
  const Signature& signature() const { return signature_; }
  const std::string& signature_text() const { return signature_text_; }
  const std::string& source() const { return source_; }
  const std::string& oracle() const { return oracle_; }
  const std::vector<Case>& cases() const { return cases_; }  // sorted by name

  /// The inputs of a case, in signature order; nothing for an absent one. Throws BadFixture.
  std::vector<std::optional<Tensor>> inputs(const Case& of) const;
  /// The expected outputs of a case, float64. Throws BadFixture.
  std::vector<Tensor> expected(const Case& of) const;

 private:
  struct Child;
  std::filesystem::path path_;
  std::string problem_, signature_text_, source_, oracle_;
  Signature signature_;
  std::vector<Case> cases_;
  std::unique_ptr<Child> child_;
};

/// An outputs file: /cases/<case>/outputs/<tensor>, as `verify --save` writes it.
struct OutputsFile {
  struct Entry {
    std::string case_name;
    std::string tensor;
    Tensor value;
  };
  std::string problem;         // empty where the file does not say
  std::vector<Entry> entries;  // sorted by case, then tensor
};

/// Reads a whole outputs file through the child. Throws BadFixture.
OutputsFile read_outputs(const std::filesystem::path& path, const ReadLimits& limits = {});
/// Writes an outputs file (in the child too: the program itself never runs libhdf5).
void write_outputs(const std::filesystem::path& path, const OutputsFile& outputs);

/// What a case to be written holds: its description, and the tensors.
struct NewCase {
  Case info;
  std::vector<std::optional<Tensor>> inputs;
  std::vector<Tensor> expected;
};

/// Writes a fixture file; problem, signature, source and oracle as given.
void write_fixture(const std::filesystem::path& path, const std::string& problem,
                   const std::string& signature, const std::string& source,
                   const std::string& oracle, std::span<const NewCase> cases);

/// One output's tolerance as `fixtures calibrate` found it.
struct NewTolerance {
  std::string case_name;
  std::string tensor;
  Tolerance tolerance;
  std::optional<Tolerance> tolerance_tf32;
  std::string reason;
};

/// Writes atol, rtol, reason and, where they are given, atol_tf32 and rtol_tf32 to outputs of an
/// existing file, and leaves the rest as it is.
///
/// The file is replaced in one step: a run that is cut off leaves the old one.
void write_tolerances(const std::filesystem::path& path, std::span<const NewTolerance> tolerances);

}  // namespace prenorm::harness
