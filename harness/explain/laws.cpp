#include "explain/laws.hpp"

#include "base/text.hpp"
#include "explain/laws_file.hpp"
#include "explain/numbers.hpp"
#include "fixture/draw.hpp"
#include "replay/calibrate.hpp"
#include "replay/replay.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

/// Calls without an answer, after which nothing more is asked.
constexpr int most_unanswered = 6;
constexpr std::size_t most_laws = 2;  // of those that are broken, that are told

/// How far numbers of that type may be apart and still be called the same, of their size. The
/// inputs are tame, and whoever has a term wrong is off by much more.
double slack(DType dtype) {
  return dtype == DType::float64 ? 1e-6 : dtype == DType::float32 ? 1e-4 : 8 * epsilon(dtype);
}

/// One problem of a solution, asked at the settings of its laws.
class Laboratory {
 public:
  Laboratory(const std::string& problem, const Signature& signature, const Laws& laws, DType dtype,
             const Witness& witness)
      : problem_(problem), signature_(signature), laws_(laws), dtype_(dtype), witness_(witness) {}

  /// A call's inputs, at the base but for what the setting says. Nothing where it cannot be asked.
  std::optional<LoadedCase> question(const Setting& setting) const {
    const Setting all = on_base(setting);
    LoadedCase loaded;
    Case& info = loaded.info;
    info.name = "law";
    Shape batch;
    for (const std::string& size : split_words(all.at("batch"))) batch.push_back(std::stoll(size));
    for (const ScalarSpec& spec : signature_.scalars) info.scalars.push_back(scalar(spec, all));
    std::vector<std::optional<TensorType>> types;
    for (const TensorSpec& spec : signature_.inputs) {
      if (spec.optional && (!all.contains(spec.name) || all.at(spec.name) == "absent")) {
        types.emplace_back();
        info.inputs.emplace_back();
        continue;
      }
      TensorType type{spec.dtype.value_or(dtype_), spec.batched ? batch : Shape{}};
      for (const std::string& dim : spec.dims) type.shape.push_back(std::stoll(all.at(dim)));
      types.emplace_back(type);
      info.inputs.emplace_back(InputInfo{type, ""});
    }
    info.binding = harness::bind(signature_, types);
    for (std::size_t i = 0; i < types.size(); ++i) {
      loaded.inputs.emplace_back();
      if (types[i]) loaded.inputs.back() = made(signature_.inputs[i], *types[i], all, info, 1);
    }
    for (const TensorType& type : output_types(signature_, info.binding)) {
      info.outputs.push_back({type.shape, type.dtype, {}, {}, ""});
    }
    if (witness_.can_be_asked && !witness_.can_be_asked(info)) return std::nullopt;
    return loaded;
  }

  /// The same with inputs changed.
  LoadedCase changed(LoadedCase loaded, const Law& law) const {
    const Setting all = on_base(law.setting);
    for (const auto& [name, how] : law.change) {
      const std::size_t i = input(name);
      Tensor& tensor = *loaded.inputs[i];
      const Words words = split_words(how);
      if (words[0] == "times" || words[0] == "plus") {
        const double by = *parse_number(words[1]);
        for (std::int64_t at = 0; at < tensor.size(); ++at) {
          tensor.set(at, words[0] == "times" ? by * tensor.at(at) : tensor.at(at) + by);
        }
      } else if (words[0] == "reversed") {
        tensor = reversed(tensor, axis(signature_.inputs[i], tensor.shape, words[1], loaded.info));
      } else {  // anew first N AXIS
        const Tensor other =
            made(signature_.inputs[i], {tensor.dtype, tensor.shape}, all, loaded.info, 2);
        for (std::int64_t at = 0; at < tensor.size(); ++at) {
          if (is_among(at, signature_.inputs[i], tensor.shape, words, 1, loaded.info)) {
            tensor.set(at, other.at(at));
          }
        }
      }
    }
    return loaded;
  }

  /// What the solution says; nothing where it fails, or there is no time.
  std::optional<Tensor> answer(LoadedCase loaded) const {
    if (silent_) return std::nullopt;
    if (witness_.give) witness_.give(loaded);
    Call call =
        call_of(witness_.asked.function_for(problem_), signature_, loaded.inputs, loaded.info);
    call.inputs_may_change = true;
    Outcome outcome = witness_.asked.call(call);
    // The others would take as long, or end the worker again.
    if (outcome.status != Status::passed) ++unanswered_;
    silent_ = outcome.status == Status::timeout || unanswered_ == most_unanswered;
    if (outcome.status != Status::passed) return std::nullopt;
    return std::move(outcome.outputs.front());
  }

  /// What the truth says, in float64; nothing where it has no answer.
  std::optional<Tensor> right(const LoadedCase& loaded) const try {
    return exact_outputs(problem_, signature_, loaded.inputs, loaded.info.scalars, witness_.truth)
        .front();
  } catch (const NoAnswer&) {
    return std::nullopt;
  }

  /// Whether the solution is right there; nothing where it does not answer.
  std::optional<bool> is_right(const Setting& setting) const {
    const std::optional<LoadedCase> loaded = question(setting);
    if (!loaded) return std::nullopt;
    const std::optional<Tensor> got = answer(*loaded);
    const std::optional<Tensor> wanted = right(*loaded);
    if (!got || !wanted) return std::nullopt;
    return !worst(*got, *wanted, nullptr);
  }

  /// The clue that a broken law is; nothing where it holds, or cannot be asked.
  std::optional<Clue> broken(const Law& law) const {
    const bool about_this = std::ranges::all_of(
        law.change, [&](const auto& each) { return input(each.first) < signature_.inputs.size(); });
    const std::optional<LoadedCase> first = about_this ? question(law.setting) : std::nullopt;
    if (!first) return std::nullopt;
    const LoadedCase second = changed(*first, law);
    const std::optional<Tensor> before = answer(*first);
    const std::optional<Tensor> after = law.change.empty() ? before : answer(second);
    if (!before || !after) return std::nullopt;
    std::optional<Breach> breach;
    if (law.then != "right") {
      breach = breach_of(law, *first, *before, *after);
      if (breach && truth_breaks(law, *first, second)) breach.reset();
    } else if (const std::optional<Tensor> truth = right(*first)) {
      breach = compared(*after, *truth, nullptr, nullptr);
    }
    if (!breach) return std::nullopt;
    return Clue{problem_,   law.name,
                law.terms,  "breaks a law: " + law.says,
                law.breach, "with " + described(law, *first) + ": " + *breach};
  }

 private:
  using Breach = std::string;  // in words

  /// What the truth itself breaks, or has no answer to, is no law of these inputs.
  bool truth_breaks(const Law& law, const LoadedCase& first, const LoadedCase& second) const {
    const std::optional<Tensor> before = right(first);
    const std::optional<Tensor> after = law.change.empty() ? before : right(second);
    return !before || !after || breach_of(law, first, *before, *after);
  }

  Setting on_base(Setting setting) const {
    setting.insert(laws_.base.begin(), laws_.base.end());
    return setting;
  }

  static Scalar scalar(const ScalarSpec& spec, const Setting& all) {
    const auto found = all.find(spec.name);
    if (found == all.end()) return spec.default_value.value_or(std::int64_t{0});
    const double value = parse_number(found->second).value_or(0);
    if (spec.kind == ScalarKind::integer) return static_cast<std::int64_t>(value);
    return value;
  }

  std::size_t input(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::find(signature_.inputs, name, &TensorSpec::name) -
                                    signature_.inputs.begin());
  }

  /// Its place among the tensor's axes: a dimension's name, a number, or "dim", the scalar.
  std::size_t axis(const TensorSpec& spec, const Shape& shape, const std::string& name,
                   const Case& info) const {
    if (const auto place = parse_number(name)) return static_cast<std::size_t>(*place);
    if (name == "dim") return static_cast<std::size_t>(std::get<std::int64_t>(info.scalars[0]));
    if (name == "batch") return 0;
    const auto found = std::ranges::find(spec.dims, name) - spec.dims.begin();
    if (found == std::ssize(spec.dims)) {
      throw std::invalid_argument("laws: " + spec.name + " has no axis " + name);
    }
    return shape.size() - spec.dims.size() + static_cast<std::size_t>(found);
  }

  /// Whether an element lies in "first N AXIS" or "last N AXIS", which stands at that word.
  bool is_among(std::int64_t at, const TensorSpec& spec, const Shape& shape, const Words& words,
                std::size_t word, const Case& info) const {
    const std::size_t along = axis(spec, shape, words[word + 2], info);
    const auto count = static_cast<std::int64_t>(*parse_number(words[word + 1]));
    const std::int64_t place = index_of(at, shape)[along];
    return words[word] == "first" ? place < count : place >= shape[along] - count;
  }

  static Tensor reversed(const Tensor& tensor, std::size_t along) {
    Tensor result = tensor;
    for (std::int64_t at = 0; at < tensor.size(); ++at) {
      Shape index = index_of(at, tensor.shape);
      index[along] = tensor.shape[along] - 1 - index[along];
      result.set(at, tensor.at(offset_of(index, tensor.shape)));
    }
    return result;
  }

  /// An input as the setting writes it.
  Tensor made(const TensorSpec& spec, const TensorType& type, const Setting& all, const Case& info,
              std::uint64_t seed) const {
    Tensor tensor(type.dtype, type.shape);
    const std::string& how = all.at(spec.name);
    const std::int64_t width = type.shape.empty() ? 1 : type.shape.back();
    const std::int64_t height = type.shape.size() < 2 ? 1 : type.shape[type.shape.size() - 2];
    const auto fill = [&](auto value) {
      for (std::int64_t at = 0; at < tensor.size(); ++at) {
        tensor.set(at, value(at / width % height, at % width));
      }
    };
    if (const auto constant = parse_number(how)) {
      fill([&](std::int64_t, std::int64_t) { return *constant; });
    } else if (how == "identity") {
      fill([](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : 0.0; });
    } else if (how == "counted") {
      fill([](std::int64_t, std::int64_t j) { return static_cast<double>(j); });
    } else if (split_words(how)[0] == "hides") {  // hides last AXIS
      const std::size_t along = axis(spec, type.shape, split_words(how)[2], info);
      for (std::int64_t at = 0; at < tensor.size(); ++at) {
        tensor.set(at, index_of(at, type.shape)[along] + 1 < type.shape[along] ? 1 : 0);
      }
    } else {
      // The same numbers for an input whatever else a setting changes.
      auto random = generator(seed, problem_ + "/" + spec.name);
      const Words words = split_words(how);
      if (words[0] == "signs") {
        fill([&](std::int64_t, std::int64_t) { return random() % 2 == 0 ? 1.0 : -1.0; });
      } else if (words[0] == "equal") {  // equal AXIS DRAW: the same all along the axis
        tensor = draw(parse_draw(words[2]), type, info, signature_, random);
        const std::size_t along = axis(spec, type.shape, words[1], info);
        for (std::int64_t at = 0; at < tensor.size(); ++at) {
          Shape index = index_of(at, type.shape);
          index[along] = 0;
          tensor.set(at, tensor.at(offset_of(index, type.shape)));
        }
      } else {
        tensor = draw(parse_draw(how), type, info, signature_, random);
      }
    }
    return tensor;
  }

  /// The first element, in memory order, that is as far off as any; nothing where none is. Elements
  /// are looked at where `looked_at` says so, or all.
  std::optional<std::int64_t> worst(const Tensor& got, const Tensor& wanted,
                                    const std::function<bool(std::int64_t)>& looked_at) const {
    double size = 0;
    for (std::int64_t i = 0; i < wanted.size(); ++i) {
      if (std::isfinite(wanted.at(i))) size += wanted.at(i) * wanted.at(i);
    }
    size = std::sqrt(size / static_cast<double>(std::max<std::int64_t>(wanted.size(), 1)));
    std::optional<std::int64_t> found;
    double most = slack(dtype_);
    for (std::int64_t i = 0; i < wanted.size(); ++i) {
      if (looked_at && !looked_at(i)) continue;
      const double a = got.at(i), b = wanted.at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double far = std::fabs(a - b) / (size + std::fabs(b) + 1e-3);
      if (far <= most) continue;
      found = i;
      if (std::isnan(far) || std::isinf(far)) break;
      most = far;
    }
    return found;
  }

  static std::string index_text(const Tensor& tensor, std::int64_t at) {
    return "y" + to_text(index_of(at, tensor.shape));
  }

  /// "y[0, 3] is 0.5; it should be 1".
  std::optional<Breach> compared(const Tensor& got, const Tensor& wanted,
                                 const std::function<bool(std::int64_t)>& looked_at,
                                 const Tensor* before) const {
    const std::optional<std::int64_t> at = worst(got, wanted, looked_at);
    if (!at) return std::nullopt;
    auto [is, should] = std::pair(short_number(got.at(*at)), short_number(wanted.at(*at)));
    if (is == should) std::tie(is, should) = told_apart(got.at(*at), wanted.at(*at));
    const std::string was =
        before == nullptr ? "" : fmt::format("was {} and then ", short_number(before->at(*at)));
    return fmt::format("{} {}is {}; it should be {}", index_text(got, *at), was, is, should);
  }

  /// How the outputs break what the law says of them. `before` and `after` are one where it makes
  /// one call.
  std::optional<Breach> breach_of(const Law& law, const LoadedCase& first, const Tensor& before,
                                  const Tensor& after) const {
    const Words words = split_words(law.then);
    const std::string& verb = words[0];
    const TensorSpec& spec = signature_.outputs.front();
    const auto along = [&](const std::string& name) {
      return axis(spec, after.shape, name, first.info);
    };
    if (verb == "sums" || verb == "mean_square") {  // sums 1 AXIS
      std::optional<Breach> breach;
      const double wanted = *parse_number(words[1]);
      for_each_slice(after.shape, static_cast<std::ptrdiff_t>(along(words[2])),
                     [&](const std::vector<std::int64_t>& slice) {
                       double sum = 0;
                       for (const std::int64_t i : slice) {
                         sum += verb == "sums" ? after.at(i) : after.at(i) * after.at(i);
                       }
                       if (verb != "sums") sum /= static_cast<double>(slice.size());
                       if (breach || std::fabs(sum - wanted) <= 40 * slack(dtype_)) return;
                       breach = Breach{fmt::format("the {} from {} on is {}; it should be {}",
                                                   verb == "sums" ? "sum" : "mean square",
                                                   index_text(after, slice.front()),
                                                   short_number(sum), short_number(wanted))};
                     });
      return breach;
    }
    if (verb == "lengths") {  // of pairs, as those of an input
      const Tensor& input = *first.inputs[this->input(words[1])];
      for (std::int64_t i = 0; i + 1 < after.size(); i += 2) {
        const double is = std::hypot(after.at(i), after.at(i + 1));
        const double was = std::hypot(input.at(i), input.at(i + 1));
        if (std::fabs(is - was) <= 40 * slack(dtype_) * (was + 1e-3)) continue;
        return fmt::format("the pair from {} on is {} long; it should be {}", index_text(after, i),
                           short_number(is), short_number(was));
      }
      return std::nullopt;
    }
    if (verb == "differs") {  // differs last N AXIS
      bool same = true;
      std::int64_t some = 0;
      for (std::int64_t i = 0; i < after.size(); ++i) {
        if (!is_among(i, spec, after.shape, words, 1, first.info)) continue;
        same = same && std::fabs(after.at(i) - before.at(i)) <= slack(dtype_);
        some = i;
      }
      if (!same) return std::nullopt;
      return Breach{fmt::format("{} was {} and still is", index_text(after, some),
                                short_number(after.at(some)))};
    }
    if (verb == "is_not") {  // is_not 0
      const double other = *parse_number(words[1]);
      for (std::int64_t i = 0; i < after.size(); ++i) {
        if (!(std::fabs(after.at(i) - other) <= slack(dtype_))) return std::nullopt;
      }
      return fmt::format("all of y is {}", words[1]);
    }
    Tensor wanted(DType::float64, after.shape);
    const auto fill = [&](auto value) {
      for (std::int64_t i = 0; i < wanted.size(); ++i) wanted.set(i, value(i));
    };
    std::function<bool(std::int64_t)> looked_at;
    if (const auto constant = parse_number(verb)) {
      fill([&](std::int64_t) { return *constant; });
    } else if (verb == "equals") {
      const Tensor& input = *first.inputs[this->input(words[1])];
      fill([&](std::int64_t i) { return input.at(i); });
    } else if (verb == "times") {
      fill([&](std::int64_t i) { return *parse_number(words[1]) * before.at(i); });
    } else if (verb == "minus") {
      const Tensor& input = *first.inputs[this->input(words[1])];
      fill([&](std::int64_t i) { return before.at(i) - input.at(i); });
    } else if (verb == "reversed") {
      const Tensor other = reversed(before, along(words[1]));
      fill([&](std::int64_t i) { return other.at(i); });
    } else {  // same, or same but last N AXIS
      fill([&](std::int64_t i) { return before.at(i); });
      if (words.size() > 1) {
        looked_at = [&](std::int64_t i) {
          return !is_among(i, spec, after.shape, words, 2, first.info);
        };
      }
    }
    return compared(after, wanted, looked_at, law.change.empty() ? nullptr : &before);
  }

  /// The shapes, and what was changed: "x[2, 8] weight[8]; ..., and then x times 2".
  std::string described(const Law& law, const LoadedCase& first) const {
    const auto listed = [](const Setting& setting, const std::string& is) {
      Words words;
      for (const auto& [name, how] : setting) words.push_back(name + is + how);
      return words;
    };
    std::string text;
    for (std::size_t i = 0; i < first.inputs.size(); ++i) {
      if (!first.inputs[i]) continue;
      text +=
          (text.empty() ? "" : " ") + signature_.inputs[i].name + to_text(first.inputs[i]->shape);
      if (text.size() > 60) {
        text += " ...";
        break;
      }
    }
    if (!law.setting.empty()) text += "; " + joined(listed(law.setting, " = "));
    if (!law.change.empty()) text += ", and then " + joined(listed(law.change, " "), " and ");
    return text;
  }

  const std::string& problem_;
  const Signature& signature_;
  const Laws& laws_;
  DType dtype_;
  const Witness& witness_;
  mutable bool silent_ = false;
  mutable int unanswered_ = 0;
};

Words without(const Words& all, const Words& some) {
  Words left;
  for (const std::string& each : all) {
    if (std::ranges::find(some, each) == some.end()) left.push_back(each);
  }
  return left;
}

/// Of some terms, those that are among others too; all of the others where nothing is known yet.
void narrow(std::optional<Words>& some, const Words& others) {
  some = some ? without(*some, without(*some, others)) : others;
}

/// Where it is right, and what all such probes leave out.
std::optional<Clue> right_where(const Laws& laws, const Laboratory& laboratory,
                                const std::string& problem) {
  std::optional<Words> suspects;
  const Probe* said = nullptr;  // of the probes, the one that leaves out least says most
  for (const Probe& probe : laws.right_where) {
    if (!laboratory.is_right(probe.setting).value_or(false)) continue;
    narrow(suspects, probe.terms);
    if (said == nullptr || probe.terms.size() < said->terms.size()) said = &probe;
  }
  if (!suspects || suspects->empty()) return std::nullopt;
  return Clue{problem,   "right_where",
              *suspects, fmt::format("right where {}, wrong otherwise", said->where),
              "",        ""};
}

/// Of what is right for ordinary inputs.
std::vector<Clue> wrong_where(const Laws& laws, const Laboratory& laboratory,
                              const std::string& problem) {
  std::vector<Clue> clues;
  for (const Probe& probe : laws.wrong_where) {
    if (clues.size() == most_laws) break;
    if (laboratory.is_right(probe.setting).value_or(true)) continue;
    clues.push_back({problem, "wrong_where", probe.terms,
                     fmt::format("right for ordinary inputs, wrong where {}", probe.where),
                     look_at(laws, problem, probe.terms), ""});
  }
  return clues;
}

}  // namespace

std::vector<std::string> parts_of(const std::string& problem) {
  const Laws* laws = laws_for(problem);
  if (laws == nullptr) return {};
  const auto found = laws->parts.find(problem);
  return found == laws->parts.end() ? Words{} : found->second;
}

std::vector<Clue> clues_to(const std::string& problem, const Signature& signature, DType dtype,
                           const Witness& witness) try {
  const Laws* laws = laws_for(problem);
  if (laws == nullptr || !witness.asked.load() || !witness.truth.load()) return {};
  const Laboratory laboratory(problem, signature, *laws, dtype, witness);
  std::vector<Clue> clues;
  std::optional<Words> suspects;
  for (const Law& law : laws->laws) {
    std::optional<Clue> clue = laboratory.broken(law);
    if (!clue) continue;
    narrow(suspects, clue->terms);
    if (clues.size() < most_laws) clues.push_back(std::move(*clue));
  }
  const std::optional<bool> ordinary = laboratory.is_right({});
  if (ordinary == true && clues.empty()) return wrong_where(*laws, laboratory, problem);
  if (ordinary != false) return clues;
  if (std::optional<Clue> clue = right_where(*laws, laboratory, problem)) {
    narrow(suspects, clue->terms);
    if (suspects->empty()) return clues;  // several terms are wrong, and none explains all
    clue->terms = *suspects;
    clue->sentence = look_at(*laws, problem, clue->terms);
    clues.push_back(std::move(*clue));
  }
  return clues;
} catch (const SolutionFailed&) {  // the truth; verdicts stand without clues
  return {};
}

}  // namespace prenorm::harness
