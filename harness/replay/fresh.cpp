#include "replay/calibrate.hpp"

#include <algorithm>
#include <set>

namespace prenorm::harness {
namespace {

constexpr int attempts = 8;  // to find sizes that the reference accepts

bool has_draw(const Case& info) {
  return std::ranges::any_of(info.inputs,
                             [](const auto& input) { return input && !input->draw.empty(); });
}

/// The sizes that can change: those named by the case that occur in drawn inputs only.
std::set<std::string> changeable_sizes(const Case& info, const Signature& signature) {
  std::set<std::string> names(info.redrawn_sizes.begin(), info.redrawn_sizes.end());
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    if (!info.inputs[i] || !info.inputs[i]->draw.empty()) continue;
    for (const std::string& dim : signature.inputs[i].dims) names.erase(dim);
  }
  return names;
}

/// Whether its only input is drawn and has no named axis, which could be tied to another: then
/// every axis can change.
bool has_free_shape(const Case& info, const Signature& signature) {
  return info.inputs.size() == 1 && info.inputs[0] && !info.inputs[0]->draw.empty() &&
         signature.inputs[0].dims.empty();
}

/// Gives the case's inputs and outputs new sizes, between 1 and twice the stored ones.
void resize(Case& info, const Signature& signature, std::mt19937_64& random) {
  const auto change = [&random](std::int64_t& size) {
    if (size < 1) return;
    size = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * size));
  };
  std::map<std::string, std::int64_t> sizes = info.binding.sizes;
  for (const std::string& dim : changeable_sizes(info, signature)) {
    if (const auto size = sizes.find(dim); size != sizes.end()) change(size->second);
  }
  if (has_free_shape(info, signature)) std::ranges::for_each(info.inputs[0]->type.shape, change);
  std::vector<std::optional<TensorType>> types(info.inputs.size());
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    if (!info.inputs[i]) continue;
    TensorType& type = info.inputs[i]->type;
    const std::vector<std::string>& dims = signature.inputs[i].dims;
    const std::size_t batch = type.shape.size() - dims.size();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (const auto size = sizes.find(dims[axis]); size != sizes.end()) {
        type.shape[batch + axis] = size->second;
      }
    }
    types[i] = type;
  }
  info.binding = harness::bind(signature, types);
  const std::vector<TensorType> outputs = output_types(signature, info.binding);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    info.outputs[i].shape = outputs[i].shape;
  }
}

}  // namespace

LoadedCase fresh_case(const std::string& problem, const Signature& signature,
                      const LoadedCase& stored, const Yardsticks& by, const FreshOptions& options) {
  LoadedCase fresh = stored;
  if (fresh.info.error || !has_draw(fresh.info)) return fresh;
  const bool resizable = options.resize && (!changeable_sizes(fresh.info, signature).empty() ||
                                            has_free_shape(fresh.info, signature));
  for (int attempt = resizable ? 0 : attempts; attempt <= attempts; ++attempt) {
    auto random = generator(options.seed,
                            problem + "/" + fresh.info.name + "/fresh/" + std::to_string(attempt));
    fresh.info = stored.info;
    try {
      if (attempt < attempts) resize(fresh.info, signature, random);
      // A kept value is bit for bit as stored.
      fresh.inputs = redraw({fresh.info, stored.inputs, {}}, signature, false, random);
      fresh.expected =
          exact_outputs(problem, signature, fresh.inputs, fresh.info.scalars, by.truth);
      const auto found = calibrate(problem, signature, fresh, by, options.redraws, options.seed);
      for (std::size_t i = 0; i < found.size(); ++i) {
        fresh.info.outputs[i].tolerance = found[i].tolerance;
        fresh.info.outputs[i].tolerance_tf32 = found[i].tolerance_tf32;
        fresh.info.outputs[i].reason = found[i].reason;
      }
      return fresh;
    } catch (const CaseError&) {
      if (attempt == attempts) throw;
    } catch (const std::runtime_error& error) {
      if (attempt == attempts) throw CaseError("case " + fresh.info.name + ": " + error.what());
    }
  }
  return fresh;  // not reached: the last attempt returns or throws
}

}  // namespace prenorm::harness
