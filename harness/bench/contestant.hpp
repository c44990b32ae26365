// Who is timed: a solution in its worker, or a peer, a program that computes the same with another
// library.
#pragma once

#include "base/process.hpp"
#include "bench/workload.hpp"
#include "solution/solution.hpp"
#include "base/json.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace prenorm::harness::bench {

using Inputs = std::vector<std::optional<Tensor>>;

/// One side of the comparison.
class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual const std::string& label() const = 0;
  virtual bool is_peer() const = 0;
  /// Does it run on a device of its own, with caches and a bandwidth of its own?
  virtual bool on_device() = 0;
  /// "tf32", or empty.
  virtual std::string mode() const { return ""; }
  /// Is it there for this problem at all? Who forces a backend of attention is for attention only.
  virtual bool is_for(const std::string& /*problem*/) const { return true; }
  /// One call. `seconds` is the function's own time; NOT_IMPLEMENTED where there is none. The
  /// message of a call that passed is a note on how it was computed.
  virtual Outcome call(const Workload& workload, const Inputs& inputs) = 0;
};

/// A solution, called as `verify` calls it.
///
/// All that differs on a device is here: caches made cold before a call, time by the device's own
/// events, the bandwidth of its memory.
class SolutionContestant final : public Contestant {
 public:
  explicit SolutionContestant(Solution solution) : solution_(std::move(solution)) {}

  const std::string& label() const override { return solution_.label(); }
  bool is_peer() const override { return false; }
  std::string mode() const override { return solution_.mode(); }
  Outcome call(const Workload& workload, const Inputs& inputs) override;

  Solution& solution() { return solution_; }
  bool on_device() override { return solution_.load() && solution_.on_device(); }
  /// Bytes a second of a large copy on that device; nothing for the CPU.
  std::optional<double> copy_bandwidth() {
    return on_device() ? solution_.copy_bandwidth() : std::nullopt;
  }

 private:
  Solution solution_;
};

/// A file in memory, which others of our processes may open by its path, and which is gone with us.
class MemoryFile {
 public:
  MemoryFile();  // throws std::runtime_error
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const;
  /// Both throw std::runtime_error; the file holds just these bytes, or must.
  void write(const std::vector<std::byte>& data);
  void read(std::vector<std::byte>& data) const;

 private:
  int descriptor_;
};

/// A program that answers requests over descriptor 3, each a length (4 bytes, little-endian) and
/// JSON. Tensors go through files in memory.
///
///   (first, unasked)            {"name": "pytorch 2.9.1", "threads": 2, "variants":
///                                {"eager": null, "flash": ["scaled_dot_product_attention"]}}:
///                               each with the problems that it is for, null for all
///   {"do": "call", "variant", "problem", "device", "inputs": {name: {"file", "dtype", "shape",
///    "draw"}}, "scalars": {...}, "outputs": [{"file"}]}
///                               {"seconds": 0.001, "note": "takes flash"}, {"absent": why} or
///                               {"error": why}
///   {"do": "compare", "actual": {tensor}, "expected": {tensor}, "atol", "rtol"}
///                               {"seconds": 0.001}: numpy.testing.assert_allclose
class PeerProcess {
 public:
  struct Variant {
    std::string name;
    std::optional<std::vector<std::string>> problems;  // that it is for; nothing: all
  };

  /// Starts PYTHON SCRIPT --serve OPTIONS... Throws std::runtime_error where it does not answer.
  PeerProcess(const std::string& python, const std::filesystem::path& script,
              const std::vector<std::string>& options);
  const std::string& name() const { return name_; }
  const std::vector<Variant>& variants() const { return variants_; }

  /// Throws std::runtime_error where the process has ended or takes more than ten minutes: then it
  /// is ended.
  Outcome call(const std::string& variant, const Workload& workload, const Inputs& inputs,
               bool on_device);
  double compare_seconds(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

 private:
  Json ask(const Json& request);
  Json receive();
  Json stored(const Tensor& tensor, const std::string& name);

  std::map<std::string, MemoryFile> files_;
  std::unique_ptr<Process> process_;
  std::string name_;
  std::vector<Variant> variants_;
};

/// One way in which a peer computes: "pytorch 2.9.1 eager".
class PeerContestant final : public Contestant {
 public:
  PeerContestant(std::shared_ptr<PeerProcess> peer, PeerProcess::Variant variant, bool on_device)
      : peer_(std::move(peer)),
        variant_(std::move(variant)),
        label_(peer_->name() + " " + variant_.name),
        on_device_(on_device) {}

  const std::string& label() const override { return label_; }
  bool is_peer() const override { return true; }
  bool on_device() override { return on_device_; }
  bool is_for(const std::string& problem) const override {
    return !variant_.problems ||
           std::ranges::find(*variant_.problems, problem) != variant_.problems->end();
  }
  Outcome call(const Workload& workload, const Inputs& inputs) override {
    return peer_->call(variant_.name, workload, inputs, on_device_);
  }

 private:
  std::shared_ptr<PeerProcess> peer_;
  PeerProcess::Variant variant_;
  std::string label_;
  bool on_device_;
};

}  // namespace prenorm::harness::bench
