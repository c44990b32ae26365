#include "replay/replay.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

/// The outputs that a solution must fill: shapes by the signature, element types by the file.
std::vector<TensorType> wanted_outputs(const Signature& signature, const Binding& binding,
                                       const Case& info) {
  std::vector<TensorType> types = output_types(signature, binding);
  for (std::size_t i = 0; i < types.size() && i < info.outputs.size(); ++i) {
    types[i].dtype = info.outputs[i].dtype;
  }
  return types;
}

/// The tolerance of each output; `missing` names the kind that is missing.
std::vector<Tolerance> tolerances(const Case& info, bool tf32, std::string& missing) {
  std::vector<Tolerance> all;
  for (const OutputInfo& output : info.outputs) {
    const std::optional<Tolerance>& tolerance = tf32 ? output.tolerance_tf32 : output.tolerance;
    if (!tolerance) missing = tf32 ? "no tf32 tolerance" : "no tolerance";
    all.push_back(tolerance.value_or(Tolerance{}));
  }
  return all;
}

void judge_refusal(const std::string& wanted, const Outcome& outcome, Result& result) {
  const bool accepted =
      outcome.status == Status::passed || outcome.status == Status::incorrect_numerical;
  if (outcome.refused) {
    result.status = Status::passed;
    result.message = "refused: " + outcome.message;
  } else if (accepted) {
    result.status = Status::incorrect_numerical;
    result.message = "gave a result, but must refuse this call: " + printable(wanted);
  }
}

std::string digits(const Tensor& tensor, std::int64_t i) {
  return fmt::format("{:.{}g}", tensor.at(i), tensor.dtype == DType::float64 ? 17 : 9);
}

/// The first element whose bits differ; -1 for none. All NaNs count as equal: the sign that a
/// vector unit propagates is arbitrary.
std::int64_t first_difference(const Tensor& a, const Tensor& b) {
  const std::size_t size = size_of(a.dtype);
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(a.data.data() + at, b.data.data() + at, size) == 0) continue;
    if (std::isnan(a.at(i)) && std::isnan(b.at(i))) continue;
    return i;
  }
  return -1;
}

/// Where two equal calls gave different bits: "y at [3]: 1, then 2"; empty if nowhere.
std::string difference(const Signature& signature, const std::vector<Tensor>& first,
                       const std::vector<Tensor>& second) {
  for (std::size_t output = 0; output < first.size(); ++output) {
    const Tensor &a = first[output], &b = second[output];
    if (const std::int64_t i = first_difference(a, b); i >= 0) {
      return signature.outputs[output].name + " at " + to_text(index_of(i, a.shape)) + ": " +
             digits(a, i) + ", then " + digits(b, i);
    }
  }
  return "";
}

/// Makes the same call again and judges it. Where its numbers are wrong, they take the place of the
/// first ones.
void call_again(const Call& call, const LoadedCase& loaded, const std::vector<Tolerance>& allowed,
                bool same_bits, Solution& solution, Outcome& first, Result& result) {
  Outcome second = solution.call(call);
  if (second.status != Status::passed) {
    result.status = second.status;
    result.unwritten = second.unwritten;
    result.message = "in a second call with the same inputs: " + second.message;
    return;
  }
  const std::string where = difference(*call.signature, first.outputs, second.outputs);
  result.deterministic = where.empty();
  if (where.empty()) return;
  if (same_bits) result.status = Status::nondeterministic;
  result.message = "two calls with the same inputs differ: " + where;
  if (same_bits) return;
  Result again;
  again.status = Status::passed;
  compare_outputs(*call.signature, loaded.expected, allowed, second.outputs, again);
  bool farther = false;
  for (std::size_t i = 0; i < again.outputs.size(); ++i) {
    farther = farther || again.outputs[i].max_abs_error > result.outputs[i].max_abs_error;
  }
  if (again.status != Status::passed) {
    result.status = again.status;
    result.message = "in the second call: " + again.message;
  } else if (!farther) {
    return;
  }
  // What wants more than that a case passes looks at the one that is farther off.
  result.outputs = std::move(again.outputs);
  first.outputs = std::move(second.outputs);
}

/// The part of a batched tensor that belongs to one row of the whole batch: its batch axes stay,
/// each of length 1. `named` axes are no batch axes.
Tensor row_of(const Tensor& tensor, std::size_t named, const Shape& batch, std::int64_t row) {
  Tensor part = rows_of(tensor, named, batch, {row});
  part.shape.insert(part.shape.begin(), tensor.shape.size() - part.shape.size(), 1);
  return part;
}

std::vector<std::optional<TensorType>> types_of(const Inputs& inputs) {
  std::vector<std::optional<TensorType>> types;
  for (const std::optional<Tensor>& input : inputs) {
    auto& type = types.emplace_back();
    if (input) type = TensorType{input->dtype, input->shape};
  }
  return types;
}

/// Does that row of the batch, computed alone, equal its part of `together` bit by bit? Nothing
/// where the call did not succeed.
std::optional<bool> same_alone(const Call& call, const LoadedCase& loaded,
                               const std::vector<Tensor>& together, std::int64_t row,
                               Solution& solution) {
  const Signature& signature = *call.signature;
  const Shape& batch = loaded.info.binding.batch;
  Inputs parts = loaded.inputs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (parts[i] && spec.batched) parts[i] = row_of(*parts[i], spec.dims.size(), batch, row);
  }
  const Binding binding = harness::bind(signature, types_of(parts));
  const Outcome alone = solution.call(call_of(call.function, signature, parts, call.scalars,
                                              wanted_outputs(signature, binding, loaded.info)));
  if (alone.status != Status::passed) return std::nullopt;
  for (std::size_t i = 0; i < together.size(); ++i) {
    const Tensor part = row_of(together[i], signature.outputs[i].dims.size(), batch, row);
    if (first_difference(part, alone.outputs[i]) >= 0) return false;
  }
  return true;
}

std::optional<bool> batch_invariance(const Call& call, const LoadedCase& loaded,
                                     const std::vector<Tensor>& together, Solution& solution) {
  const Signature& signature = *call.signature;
  const std::int64_t rows = element_count(loaded.info.binding.batch);
  const bool rows_everywhere =
      std::ranges::all_of(signature.outputs, [](const TensorSpec& spec) { return spec.batched; });
  if (signature.whole_shape() || rows < 2 || !rows_everywhere) return std::nullopt;
  const std::optional<bool> first = same_alone(call, loaded, together, 0, solution);
  if (!first.value_or(false)) return first;
  return same_alone(call, loaded, together, rows - 1, solution);
}

}  // namespace

std::int64_t row_at(const Shape& shape, std::size_t named, const Shape& index) {
  const std::size_t own = shape.size() - named;  // batch axes, aligned with the last of the index
  std::int64_t row = 0;
  for (std::size_t axis = 0; axis < own; ++axis) {
    row = row * shape[axis] + (shape[axis] == 1 ? 0 : index[index.size() - own + axis]);
  }
  return row;
}

Tensor rows_of(const Tensor& tensor, std::size_t named, const Shape& batch,
               const std::vector<std::int64_t>& rows) {
  if (tensor.shape.size() == named) return tensor;
  Shape shape{static_cast<std::int64_t>(rows.size())};
  shape.insert(shape.end(), tensor.shape.end() - static_cast<std::ptrdiff_t>(named),
               tensor.shape.end());
  Tensor part(tensor.dtype, std::move(shape));
  const std::size_t bytes = rows.empty() ? 0 : part.data.size() / rows.size();
  for (std::size_t i = 0; i < rows.size() && bytes > 0; ++i) {
    const auto from =
        static_cast<std::size_t>(row_at(tensor.shape, named, index_of(rows[i], batch)));
    std::memcpy(part.data.data() + i * bytes, tensor.data.data() + from * bytes, bytes);
  }
  return part;
}

void compare_outputs(const Signature& signature, const std::vector<Tensor>& expected,
                     const std::vector<Tolerance>& allowed, const std::vector<Tensor>& outputs,
                     Result& result) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    result.outputs.push_back(compare(signature.outputs[i].name, output, expected[i], allowed[i]));
    if (!result.outputs.back().passes() && result.status == Status::passed) {
      result.status = Status::incorrect_numerical;
      result.message = explain(result.outputs.back(), output.dtype);
    }
  }
}

Call call_of(const std::string& function, const Signature& signature, const Inputs& inputs,
             const std::vector<Scalar>& scalars, std::vector<TensorType> outputs) {
  Call call;
  call.function = function;
  call.signature = &signature;
  call.scalars = scalars;
  call.outputs = std::move(outputs);
  for (const auto& input : inputs) call.inputs.push_back(input ? &*input : nullptr);
  return call;
}

Call call_of(const std::string& function, const Signature& signature, const Inputs& inputs,
             const Case& info) {
  Call call = call_of(function, signature, inputs, info.scalars, {});
  for (const OutputInfo& each : info.outputs) call.outputs.push_back({each.dtype, each.shape});
  return call;
}

Result replay(const std::string& problem, const Signature& signature, const LoadedCase& loaded,
              Solution& solution, const ReplayOptions& options, std::vector<Tensor>* outputs) {
  const Case& info = loaded.info;
  Result result;
  result.problem = problem;
  result.case_name = info.name;
  result.solution = solution.label();
  result.dtype = name(info.dtype());
  if (outputs != nullptr) outputs->clear();
  const auto ends = [&result](Status status, std::string message) {
    result.status = status;
    result.message = std::move(message);
    return result;
  };

  if (!solution.load()) return ends(solution.status(), solution.message());
  const std::string function = solution.function_for(problem);
  if (function.empty()) {
    const std::string variant = solution.variant().empty() ? "" : "__" + solution.variant();
    return ends(Status::not_implemented, "no function prenorm_" + problem + variant);
  }
  std::string missing;
  const std::vector<Tolerance> allowed = tolerances(info, solution.mode() == "tf32", missing);
  if (!missing.empty()) return ends(Status::skipped, missing);

  Call call = call_of(function, signature, loaded.inputs, info.scalars,
                      wanted_outputs(signature, info.binding, info));
  call.inputs_may_change = options.inputs_may_change;
  Outcome outcome = solution.call(call);
  result.status = outcome.status;
  result.message = outcome.message;
  result.unwritten = outcome.unwritten;
  result.not_run = outcome.not_run;
  result.changed_input = outcome.changed_input;
  result.seconds = outcome.seconds;
  result.launches = outcome.launches;
  if (info.error) {
    judge_refusal(*info.error, outcome, result);
    if (result.status != Status::passed) result.printed = std::move(outcome.printed);
    return result;
  }
  compare_outputs(signature, loaded.expected, allowed, outcome.outputs, result);
  if (result.status == Status::passed && options.twice) {
    call_again(call, loaded, allowed, options.same_bits, solution, outcome, result);
  }
  if (result.status == Status::passed && options.alone) {
    result.batch_invariant = batch_invariance(call, loaded, outcome.outputs, solution);
  }
  if (result.status != Status::passed) result.printed = std::move(outcome.printed);
  if (outputs != nullptr) *outputs = std::move(outcome.outputs);
  return result;
}

}  // namespace prenorm::harness
