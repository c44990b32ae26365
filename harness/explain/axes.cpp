#include "explain/axes.hpp"

#include "replay/replay.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

/// The case with one batch axis of size 1 more, in front, in each batched tensor.
LoadedCase with_batch_axis(const Signature& signature, LoadedCase loaded) {
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    if (!loaded.inputs[i] || !signature.inputs[i].batched) continue;
    loaded.inputs[i]->shape.insert(loaded.inputs[i]->shape.begin(), 1);
    loaded.info.inputs[i]->type.shape = loaded.inputs[i]->shape;
  }
  for (std::size_t i = 0; i < loaded.expected.size(); ++i) {
    if (!signature.outputs[i].batched) continue;
    loaded.expected[i].shape.insert(loaded.expected[i].shape.begin(), 1);
    loaded.info.outputs[i].shape = loaded.expected[i].shape;
  }
  loaded.info.binding.batch.insert(loaded.info.binding.batch.begin(), 1);
  return loaded;
}

/// The case with all batch axes made one; nothing where inputs broadcast or there is one at most.
std::optional<LoadedCase> with_one_batch_axis(const Signature& signature, LoadedCase loaded) {
  const Shape batch = loaded.info.binding.batch;
  if (batch.size() < 2) return std::nullopt;
  const std::int64_t rows = element_count(batch);
  const auto join = [&](Shape& shape) {
    if (shape.size() < batch.size() || !std::equal(batch.begin(), batch.end(), shape.begin())) {
      return false;
    }
    shape.erase(shape.begin(), shape.begin() + std::ssize(batch));
    shape.insert(shape.begin(), rows);
    return true;
  };
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    if (!loaded.inputs[i] || !signature.inputs[i].batched) continue;
    if (!join(loaded.inputs[i]->shape)) return std::nullopt;
    loaded.info.inputs[i]->type.shape = loaded.inputs[i]->shape;
  }
  for (std::size_t i = 0; i < loaded.expected.size(); ++i) {
    if (!signature.outputs[i].batched || !join(loaded.expected[i].shape)) return std::nullopt;
    loaded.info.outputs[i].shape = loaded.expected[i].shape;
  }
  loaded.info.binding.batch = {rows};
  return loaded;
}

std::size_t axes_of(const Signature& signature, const LoadedCase& loaded) {
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    if (loaded.inputs[i] && signature.inputs[i].batched) return loaded.inputs[i]->shape.size();
  }
  return 0;
}

/// The case with so many batch axes: all joined into one, if there are more, and axes of size 1
/// added in front. Nothing where they cannot be joined.
std::optional<LoadedCase> with_batch_axes(const Signature& signature, const LoadedCase& loaded,
                                          std::size_t count) {
  std::optional<LoadedCase> other = loaded;
  if (loaded.info.binding.batch.size() > count) other = with_one_batch_axis(signature, loaded);
  while (other && other->info.binding.batch.size() < count) {
    other = with_batch_axis(signature, *std::move(other));
  }
  return other;
}

}  // namespace

std::string axes_hint(const std::string& problem, const Signature& signature,
                      const LoadedCase& loaded, const Result& result, Solution& solution,
                      int& calls) {
  const bool may_be_axes = result.status == Status::runtime_error ||
                           result.status == Status::incorrect_shape ||
                           result.status == Status::incorrect_numerical;
  if (!may_be_axes || loaded.info.error || signature.whole_shape()) return "";
  const bool batched =
      std::ranges::any_of(signature.inputs, [](const TensorSpec& spec) { return spec.batched; });
  if (!batched || loaded.info.elements() == 0) return "";
  const std::size_t given = loaded.info.binding.batch.size();
  for (const std::size_t wanted : {std::size_t{1}, std::size_t{2}}) {
    if (wanted == given || calls == 0) continue;
    const std::optional<LoadedCase> other = with_batch_axes(signature, loaded, wanted);
    if (!other) continue;
    --calls;
    const ReplayOptions once{.twice = false, .alone = false, .inputs_may_change = true};
    if (replay(problem, signature, *other, solution, once).status != Status::passed) continue;
    const std::string axes = wanted == 1 ? "one batch axis" : "two batch axes";
    return fmt::format("with {} it passes: does the function expect exactly {} axes?",
                       wanted == given + 1 && given == 0 ? "a batch axis added" : axes,
                       axes_of(signature, *other));
  }
  return "";
}

}  // namespace prenorm::harness
