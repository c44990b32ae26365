// Are the outputs of a timed call right? A wrong answer has no speed.
#include "bench/measure.hpp"

#include "fixture/compare.hpp"
#include "fixture/draw.hpp"
#include "replay/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace prenorm::harness::bench {
namespace {

constexpr double most_flops = 5e10;    // of one check: about a second on four cores
constexpr double most_elements = 3e7;  // widened to float64: a quarter of a GB
constexpr std::size_t most_rows = 64;

double tolerance_of(DType dtype, bool tf32) {
  if (tf32 && dtype == DType::float32) return 8 * 0x1p-10;
  return (size_of(dtype) >= 4 ? 1024 : 8) * epsilon(dtype);
}

bool all_is_affordable(const Workload& workload) {
  double elements = 0;
  for (const auto& input : workload.info.inputs) {
    if (input) elements += static_cast<double>(element_count(input->type.shape));
  }
  return workload.flops <= most_flops && elements <= most_elements;
}

/// How many rows of the batch a check may take; 0 where one alone takes too long, and where the
/// outputs have no rows.
std::size_t affordable_rows(const Workload& workload) {
  const Signature& signature = workload.signature;
  const bool has_rows =
      !signature.whole_shape() &&
      std::ranges::all_of(signature.outputs, [](const TensorSpec& spec) { return spec.batched; });
  if (!has_rows) return 0;
  const auto rows = static_cast<double>(element_count(workload.info.binding.batch));
  const double by_flops = rows * most_flops / std::max(workload.flops, 1.0);
  return static_cast<std::size_t>(std::min({static_cast<double>(most_rows), rows, by_flops}));
}

}  // namespace

Tensor rows_of(const Tensor& tensor, std::size_t named_axes, const Shape& batch,
               const std::vector<std::int64_t>& rows) {
  const std::size_t own = tensor.shape.size() - named_axes;
  if (own == 0) return tensor;
  Shape shape{static_cast<std::int64_t>(rows.size())};
  shape.insert(shape.end(), tensor.shape.begin() + static_cast<std::ptrdiff_t>(own),
               tensor.shape.end());
  Tensor part(tensor.dtype, std::move(shape));
  const std::size_t bytes = rows.empty() ? 0 : part.data.size() / rows.size();
  for (std::size_t i = 0; i < rows.size() && bytes > 0; ++i) {
    const Shape index = index_of(rows[i], batch);
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < own; ++axis) {
      const std::int64_t extent = tensor.shape[axis];
      offset = offset * extent + (extent == 1 ? 0 : index[batch.size() - own + axis]);
    }
    std::memcpy(part.data.data() + i * bytes,
                tensor.data.data() + static_cast<std::size_t>(offset) * bytes, bytes);
  }
  return part;
}

Checker::Checker(std::uint64_t seed) : random_(generator(seed, "bench/check")) {}

void Checker::prepare(const Workload& workload, const std::vector<std::optional<Tensor>>& inputs,
                      bool first, Solution& truth) {
  workload_ = &workload;
  rows_.clear();
  expected_.clear();
  const Signature& signature = workload.signature;
  const Shape& batch = workload.info.binding.batch;
  std::vector<std::optional<Tensor>> part = inputs;
  if (!all_is_affordable(workload)) {
    const std::size_t count = affordable_rows(workload);
    if (count == 0 && !first) return;
    const auto all = static_cast<std::uint64_t>(element_count(batch));
    while (rows_.size() < count) rows_.push_back(static_cast<std::int64_t>(random_() % all));
    for (std::size_t i = 0; i < part.size() && count > 0; ++i) {
      const TensorSpec& spec = signature.inputs[i];
      if (part[i] && spec.batched) part[i] = rows_of(*part[i], spec.dims.size(), batch, rows_);
    }
  }
  expected_ = exact_outputs(workload.entry.problem, signature, part, workload.info.scalars, truth);
}

std::string Checker::complaint(const std::vector<Tensor>& outputs, const std::string& mode) const {
  if (!any()) return "";
  const double c = tolerance_of(workload_->dtype, mode == "tf32");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = workload_->signature.outputs[i];
    const Tensor& whole = outputs[i];
    const Tensor part =
        rows_.empty() ? Tensor()
                      : rows_of(whole, spec.dims.size(), workload_->info.binding.batch, rows_);
    const Tensor& actual = rows_.empty() ? whole : part;
    const Tolerance tolerance{c * root_mean_square(expected_[i], actual.dtype), c};
    const OutputReport report = compare(spec.name, actual, expected_[i], tolerance);
    if (report.mismatches > 0) return explain(report, actual.dtype);
  }
  return "";
}

}  // namespace prenorm::harness::bench
