// Fresh cases: stored ones with new values and sizes, in which right answers stay well within the
// tolerance.
#include "replay/calibrate.hpp"

#include <algorithm>
#include <set>

namespace prenorm::harness {
namespace {

constexpr int attempts = 8;  // to find sizes that the reference accepts

/// The sizes that can change: those named by the case that occur in drawn inputs only.
std::set<std::string> changeable_sizes(const Case& info, const Signature& signature) {
  std::set<std::string> names(info.redrawn_sizes.begin(), info.redrawn_sizes.end());
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    if (!info.inputs[i] || !info.inputs[i]->draw.empty()) continue;
    for (const std::string& dim : signature.inputs[i].dims) names.erase(dim);
  }
  return names;
}

/// The work's result; the message of a solution that fails in it names the case.
template <class Work>
auto named(const Case& info, const Work& work) {
  try {
    return work();
  } catch (const SolutionFailed& failure) {
    throw SolutionFailed("case " + info.name + ": " + failure.what());
  }
}

/// The exact answer to the case's present inputs.
std::vector<Tensor> expected_of(const std::string& problem, const Signature& signature,
                                const LoadedCase& loaded, Solution& truth) {
  return named(loaded.info, [&] {
    return exact_outputs(problem, signature, loaded.inputs, loaded.info.scalars, truth);
  });
}

/// Whether its only input is drawn and has no named axis, which could be tied to another: then
/// every axis can change.
bool has_free_shape(const Case& info, const Signature& signature) {
  return info.inputs.size() == 1 && info.inputs[0] && !info.inputs[0]->draw.empty() &&
         signature.inputs[0].dims.empty();
}

/// Gives the case's inputs and outputs new sizes, between 1 and twice the stored ones; beyond 257
/// somewhat larger ones.
void resize(Case& info, const Signature& signature, std::mt19937_64& random) {
  const auto change = [&random](std::int64_t& size) {
    if (size < 1) return;
    const auto below = [&random](std::int64_t end) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    };
    // What is there for its length stays long.
    size = size <= 257 ? 1 + below(2 * size) : size + below(size / 4);
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

bool is_redrawn(const Case& info) {
  return !info.error && std::ranges::any_of(info.inputs, [](const auto& input) {
    return input && !input->draw.empty();
  });
}

LoadedCase fresh_case(const std::string& problem, const Signature& signature,
                      const LoadedCase& stored, const Yardsticks& by, const FreshOptions& options) {
  LoadedCase fresh = stored;
  if (!is_redrawn(fresh.info)) return fresh;
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
      fresh.expected = expected_of(problem, signature, fresh, by.truth);
      const auto found = calibrate(problem, signature, fresh, by, options.redraws, options.seed);
      for (std::size_t i = 0; i < found.size(); ++i) {
        fresh.info.outputs[i].tolerance = found[i].tolerance;
        fresh.info.outputs[i].tolerance_tf32 = found[i].tolerance_tf32;
        fresh.info.outputs[i].reason = found[i].reason;
      }
      return fresh;
    } catch (const SolutionFailed&) {
      throw;
    } catch (const CaseError&) {
      if (attempt == attempts) throw;
    } catch (const std::runtime_error& error) {
      if (attempt == attempts) throw CaseError("case " + fresh.info.name + ": " + error.what());
    }
  }
  return fresh;  // not reached: the last attempt returns or throws
}

namespace {

/// Draws of one case. Of sixteen equal draws one sets the tolerance.
constexpr std::uint64_t most_draws = 8;

/// Neighbours of a draw whose errors are looked at beside its own; fewer where the draw only
/// replaces values that have been found fair: that is done for each submission of a class.
constexpr int neighbours = 8;
constexpr int neighbours_of_others = 4;

/// The same case with every floating value smaller by up to 8 roundings of its type: as well or as
/// badly conditioned, but other roundings happen in it.
LoadedCase neighbour_of(const std::string& problem, const Signature& signature,
                        const LoadedCase& drawn, Solution& truth, std::mt19937_64& random) {
  LoadedCase near = drawn;
  for (auto& input : near.inputs) {
    if (!input || !is_floating(input->dtype)) continue;
    const double eps = epsilon(input->dtype);
    for (std::int64_t i = 0; i < input->size(); ++i) {
      const double part = static_cast<double>(random() >> 11) * 0x1p-53;  // [0, 1)
      input->set(i, input->at(i) * (1 - 8 * eps * part));
    }
  }
  near.expected = expected_of(problem, signature, near, truth);
  return near;
}

/// Whether the solution's errors take at most half of what the tolerance allows. One for a single
/// rounding is skipped: its slack of 0.25 eps covers other orders of summation.
bool is_well_within(const std::string& problem, const Signature& signature, const LoadedCase& drawn,
                    Solution& solution) {
  std::vector<TensorType> types;
  for (const OutputInfo& output : drawn.info.outputs) types.push_back({output.dtype, output.shape});
  const std::vector<Tensor> outputs = named(drawn.info, [&] {
    return must_answer(problem, signature, solution, drawn.inputs, drawn.info.scalars, types);
  });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputInfo& output = drawn.info.outputs[i];
    const Tolerance tolerance = output.tolerance.value_or(Tolerance{});
    if (!compare("", outputs[i], drawn.expected[i], tolerance).passes()) return false;
    if (tolerance.atol == 0 || allows_one_rounding(tolerance, output.dtype)) continue;
    if (2 * largest_error(outputs[i], drawn.expected[i]) >= tolerance.atol) return false;
  }
  return true;
}

/// Whether right answers lie well within the tolerance on these very inputs. It comes from this
/// draw and fifteen others: where this one's error is the largest, or the reference's own in the
/// case's type is larger still, or the textbook loop's on inputs next to these, the inputs are
/// worse than what the tolerance was made for (a norm of what nearly cancels), and another right
/// order of summation may miss it.
bool is_fair(const std::string& problem, const Signature& signature, const LoadedCase& fresh,
             const Yardsticks& by, std::uint64_t seed, int neighbours) {
  const auto is_within = [&](const std::string& form) {
    return is_well_within(form, signature, fresh, by.textbook);
  };
  if (!std::ranges::all_of(forms_of(problem, by.textbook), is_within) ||
      !is_well_within(problem, signature, fresh, by.truth)) {
    return false;
  }
  auto random = generator(seed, problem + "/" + fresh.info.name + "/neighbours");
  for (int count = 0; count < neighbours; ++count) {
    const LoadedCase near = neighbour_of(problem, signature, fresh, by.truth, random);
    if (!is_well_within(problem, signature, near, by.textbook)) return false;
  }
  return true;
}

}  // namespace

LoadedCase fair_case(const std::string& problem, const Signature& signature,
                     const LoadedCase& stored, const Yardsticks& by, const FreshOptions& options) {
  auto random = generator(options.seed, problem + "/" + stored.info.name + "/fair");
  std::optional<LoadedCase> drawn;
  FreshOptions with = options;
  for (std::uint64_t attempt = 0; attempt < most_draws; ++attempt) {
    try {
      drawn = fresh_case(problem, signature, stored, by, with);
      const bool is_looked_at =
          is_redrawn(stored.info) && drawn->info.elements() <= most_elements_fair;
      if (!is_looked_at || is_fair(problem, signature, *drawn, by, with.seed, neighbours))
        return *drawn;
    } catch (const NoAnswer&) {
      if (attempt + 1 == most_draws && !drawn) throw;
    }
    with.seed = random();
  }
  return *drawn;  // all draws alike: each is as hard as the others
}

std::optional<LoadedCase> with_other_values(const std::string& problem, const Signature& signature,
                                            const LoadedCase& drawn, const Yardsticks& by,
                                            std::uint64_t seed) {
  std::optional<LoadedCase> other;
  for (std::uint64_t attempt = 0; attempt < most_draws; ++attempt) {
    auto random =
        generator(seed, problem + "/" + drawn.info.name + "/others/" + std::to_string(attempt));
    try {
      LoadedCase with = drawn;
      with.inputs = redraw(drawn, signature, false, random);
      with.expected = expected_of(problem, signature, with, by.truth);
      other = std::move(with);
      if (is_fair(problem, signature, *other, by, random(), neighbours_of_others)) break;
    } catch (const NoAnswer&) {  // to these values
    }
  }
  return other;
}

}  // namespace prenorm::harness
