#include "explain/diagnosis.hpp"

#include "explain/causes.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace prenorm::harness {
namespace {

/// A mistake that has explained none of so many cases is out of the question.
constexpr std::int64_t most_tries = 6;
constexpr std::size_t most_causes = 3;
/// Cases in which every pair is tried before it is tried in the others.
constexpr std::size_t probes = 2;
/// Elements of a case that coincidence is unlikely to match.
constexpr std::int64_t least_elements = 8;
/// Limits on the work: a call costs Case::work(), and as much as so many elements for itself.
constexpr std::int64_t cost_of_call = 2000;
constexpr std::int64_t most_work = 8'000'000;
constexpr std::int64_t most_work_of_pairs = 16'000'000;
constexpr std::size_t most_passed = 24;  // cases that have passed and that a mistake is tried in

using Indices = std::set<std::size_t>;  // of exhibits

/// Outputs of nothing but NaN are nobody's.
bool has_numbers(const std::vector<Tensor>& outputs) {
  return std::ranges::any_of(outputs, [](const Tensor& y) {
    for (std::int64_t i = 0; i < y.size(); ++i) {
      if (!std::isnan(y.at(i))) return true;
    }
    return false;
  });
}

struct Suspect {
  std::string mistake;
  Indices agrees;
  Indices tried;
  double distance = 0;  // from what the solution gave, in units of the allowed

  bool hopeless() const { return agrees.empty() && std::ssize(tried) >= most_tries; }
  /// Whether it explains something that is open, and fails to explain nothing of it.
  bool suffices(const Indices& open) const {
    bool any = false;
    for (const std::size_t i : open) {
      if (tried.contains(i) && !agrees.contains(i)) return false;
      any = any || agrees.contains(i);
    }
    return any;
  }
};

class Court {
 public:
  Court(const Evidence& evidence, Solution& mistakes) : evidence_(evidence), mistakes_(mistakes) {
    names_ = variants_of(evidence.problem, mistakes);
    for (const std::string& name : names_) {
      if (words_of(evidence.problem, name).honest) honest_.push_back(name);
    }
    for (std::size_t i = 0; i < evidence.wrong.size(); ++i) order_.push_back(i);
    mix_types();
    exhibits_.resize(order_.size());
  }

  Causes judge() {
    Causes findings;
    findings.cause_of.assign(evidence_.wrong.size(), Causes::none);
    Indices open;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (has_numbers(evidence_.wrong[order_[i]].outputs)) open.insert(i);
    }
    std::vector<Suspect> singles = hold_singles(open);
    while (!open.empty() && findings.diagnoses.size() < most_causes) {
      std::vector<Suspect> suspects = singles;
      const auto suffices = [&](const Suspect& single) { return single.suffices(open); };
      if (std::ranges::none_of(singles, suffices)) {
        std::ranges::move(hold_pairs(singles, open), std::back_inserter(suspects));
      }
      std::optional<Diagnosis> cause = best_of(suspects, open, findings);
      if (!cause) cause = honest_cause(open, findings);
      if (!cause) break;
      findings.diagnoses.push_back(std::move(*cause));
    }
    return findings;
  }

 private:
  /// Types in turn, so that a mistake which one of them hides shows early in another.
  void mix_types() {
    std::map<DType, std::size_t> turns;
    std::vector<std::size_t> turn(order_.size());
    for (const std::size_t i : order_) {
      if (evidence_.wrong[i].outputs.empty()) continue;
      turn[i] = turns[evidence_.wrong[i].outputs.front().dtype]++;
    }
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return turn[i]; });
  }

  const Exhibit& exhibit(std::size_t i) {
    if (!exhibits_[i]) {
      const Evidence::Wrong& wrong = evidence_.wrong[order_[i]];
      exhibits_[i] = Exhibit{evidence_.load(wrong.number), &wrong.outputs};
    }
    return *exhibits_[i];
  }

  std::vector<Tensor> mistaken(const std::string& mistake, const LoadedCase& loaded) {
    return outputs_of(evidence_.problem + "__" + mistake, *evidence_.signature, loaded, mistakes_);
  }

  /// What honest code may be off by besides, for each exhibit.
  const Leeway& leeway(std::size_t i) {
    const auto [place, is_new] = leeways_.try_emplace(i);
    if (is_new) {
      const LoadedCase& loaded = exhibit(i).loaded;
      for (const std::string& name : honest_) {
        place->second.add(mistaken(name, loaded), loaded.expected);
      }
    }
    return place->second;
  }

  bool can_afford(std::size_t i, std::int64_t& work, std::int64_t most = most_work) {
    const std::int64_t cost = cost_of_call + exhibit(i).loaded.info.work();
    if (work + cost > most) return false;
    work += cost;
    return true;
  }

  /// Tries the mistake in one case.
  void hold(Suspect& suspect, std::size_t i, bool with_leeway) {
    const Exhibit& here = exhibit(i);
    const std::vector<Tensor> outputs = mistaken(suspect.mistake, here.loaded);
    if (outputs.empty()) return;  // not written for this type
    suspect.tried.insert(i);
    std::optional<double> distance = agreement(*here.outputs, outputs, here.loaded, {});
    if (!distance && with_leeway) {
      distance = agreement(*here.outputs, outputs, here.loaded, leeway(i));
    }
    if (!distance) return;
    suspect.agrees.insert(i);
    suspect.distance += *distance;
  }

  bool is_honest(const std::string& mistake) const {
    return std::ranges::find(honest_, mistake) != honest_.end();
  }

  std::vector<Suspect> hold_singles(const Indices& open) {
    std::vector<Suspect> suspects;
    for (const std::string& name : names_) suspects.push_back({name, {}, {}, 0});
    std::int64_t work = 0;
    for (const std::size_t i : open) {
      for (Suspect& suspect : suspects) {
        if (!can_afford(i, work)) return suspects;
        hold(suspect, i, !is_honest(suspect.mistake));
      }
      std::erase_if(suspects, [](const Suspect& suspect) { return suspect.hopeless(); });
    }
    return suspects;
  }

  static std::size_t explained(const Suspect& suspect, const Indices& open) {
    return static_cast<std::size_t>(
        std::ranges::count_if(suspect.agrees, [&](std::size_t i) { return open.contains(i); }));
  }

  /// Pairs, where no single mistake explains all that is open: of one that explains a third of it
  /// with every other; of all, where none does.
  std::vector<Suspect> hold_pairs(const std::vector<Suspect>& singles, const Indices& open) {
    Indices unexplained = open;
    std::vector<std::string> first;
    for (const Suspect& single : singles) {
      if (explained(single, open) == 0) continue;
      if (3 * explained(single, open) >= open.size()) first.push_back(single.mistake);
      for (const std::size_t i : single.agrees) unexplained.erase(i);
    }
    if (unexplained.empty()) return {};
    std::vector<Suspect> pairs;
    const bool all = first.empty();
    for (std::size_t a = 0; a < names_.size(); ++a) {
      const bool leads = std::ranges::find(first, names_[a]) != first.end();
      for (std::size_t b = a + 1; b < names_.size(); ++b) {
        if (!all && !leads && std::ranges::find(first, names_[b]) == first.end()) continue;
        if (same_mistake(evidence_.problem, names_[a]) ==
            same_mistake(evidence_.problem, names_[b])) {
          continue;
        }
        pairs.push_back({names_[a] + "+" + names_[b], {}, {}, 0});
      }
    }
    return hold_pairs(std::move(pairs), unexplained, open);
  }

  std::vector<Suspect> hold_pairs(std::vector<Suspect> pairs, const Indices& unexplained,
                                  const Indices& open) {
    std::int64_t work = 0;
    std::vector<std::size_t> tried;
    for (const std::size_t i : unexplained) {  // the first that coincidence does not match
      if (tried.size() == probes) break;
      if (is_large(i)) tried.push_back(i);
    }
    if (tried.empty()) tried.push_back(*unexplained.begin());
    for (const std::size_t i : tried) {
      for (Suspect& pair : pairs) {
        if (!can_afford(i, work, most_work_of_pairs)) break;
        hold(pair, i, true);
      }
    }
    std::erase_if(pairs, [](const Suspect& pair) { return pair.agrees.empty(); });
    for (const std::size_t i : open) {
      if (std::ranges::find(tried, i) != tried.end()) continue;
      for (Suspect& pair : pairs) {
        if (!can_afford(i, work, most_work_of_pairs)) return pairs;
        hold(pair, i, true);
      }
    }
    return pairs;
  }

  /// Whether a case has enough numbers for pairs to be tried in, all of them finite.
  bool is_large(std::size_t i) {
    const Tensor& truth = exhibit(i).loaded.expected.front();
    if (truth.size() < least_elements) return false;
    for (std::int64_t at = 0; at < truth.size(); ++at) {
      if (!std::isfinite(truth.at(at))) return false;
    }
    return true;
  }

  /// Whether so few cases can be coincidence.
  bool convinces(const Indices& explained, const Indices& open) {
    const bool any_large = std::ranges::any_of(explained, [&](std::size_t i) {
      return exhibit(i).outputs->front().size() >= least_elements;
    });
    if (!any_large && explained.size() < 2 && explained.size() < open.size()) return false;
    return 2 * explained.size() > open.size() || (any_large && open.size() == 2) ||
           (any_large && explained.size() >= 3 && 4 * explained.size() >= open.size());
  }

  /// Whether the mistake clearly fails a case that has passed, of a type in which it explains some.
  bool contradicted(const std::string& mistake, const Indices& explains) {
    std::set<DType> types;
    for (const std::size_t i : explains) types.insert(exhibit(i).loaded.info.dtype());
    std::size_t tried = 0;
    std::int64_t work = 0;
    for (const std::size_t number : evidence_.passed) {
      if (tried == most_passed || work > most_work) return false;
      const auto [place, is_new] = passed_.try_emplace(number);
      if (is_new) place->second = evidence_.load(number);
      const LoadedCase& loaded = place->second;
      work += cost_of_call + loaded.info.work();
      if (!types.contains(loaded.info.dtype())) continue;
      ++tried;
      const std::vector<Tensor> outputs = mistaken(mistake, loaded);
      if (!outputs.empty() && fails_clearly(outputs, loaded)) return true;
    }
    return false;
  }

  /// Whether a mistake explains fewer cases than there are of the same types in which it shows and
  /// the outputs are not its own.
  bool misses_most(const Suspect& suspect, const Indices& explains, const Indices& open) {
    std::set<DType> types;
    for (const std::size_t i : explains) types.insert(exhibit(i).loaded.info.dtype());
    const auto missed = std::ranges::count_if(suspect.tried, [&](std::size_t i) {
      const LoadedCase& loaded = exhibit(i).loaded;
      return open.contains(i) && !explains.contains(i) && types.contains(loaded.info.dtype()) &&
             is_large(i) && fails_clearly(mistaken(suspect.mistake, loaded), loaded);
    });
    return static_cast<std::size_t>(missed) > explains.size();
  }

  /// Of a deviation that honest code has in forms of its own, adds the cases that are off by no
  /// more than our forms.
  void absorb(const std::string& mistake, const Indices& open, Indices& explained) {
    if (!is_honest(mistake)) return;
    for (const std::size_t i : open) {
      if (explained.contains(i)) continue;
      const Exhibit& here = exhibit(i);
      if (is_within(*here.outputs, here.loaded, leeway(i))) explained.insert(i);
    }
  }

  /// The suspect that explains most of what is open; what it explains is closed.
  std::optional<Diagnosis> best_of(std::vector<Suspect>& suspects, Indices& open,
                                   Causes& findings) {
    // One mistake before two; of forms of the same, that which is nearest.
    const auto is_pair = [](const Suspect& suspect) {
      return suspect.mistake.find('+') != std::string::npos;
    };
    std::ranges::stable_sort(suspects, [&](const Suspect& a, const Suspect& b) {
      const std::size_t of_a = explained(a, open), of_b = explained(b, open);
      if (of_a != of_b) return of_a > of_b;
      if (is_pair(a) != is_pair(b)) return is_pair(b);
      return a.distance < b.distance;
    });
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      Suspect& suspect = suspects[i];
      if (suspect.suffices(open)) try_in_all(suspect, open);
      Indices here;
      std::ranges::set_intersection(suspect.agrees, open, std::inserter(here, here.end()));
      if (here.empty() || !convinces(here, open)) return std::nullopt;
      // Of hundreds of pairs, one may happen to fit a case that is left.
      if (is_pair(suspect) && here.size() < 2 && evidence_.wrong.size() > 1) continue;
      if (contradicted(suspect.mistake, here) || misses_most(suspect, here, open)) continue;
      absorb(suspect.mistake, open, here);
      Diagnosis diagnosis{
          evidence_.problem, suspect.mistake, std::ssize(here), std::ssize(evidence_.wrong), {}};
      for (std::size_t j = i + 1; j < suspects.size() && !is_pair(suspect); ++j) {
        const Suspect& other = suspects[j];
        if (is_pair(other) || explained(other, here) < explained(suspect, here)) continue;
        if (same_mistake(evidence_.problem, other.mistake) ==
            same_mistake(evidence_.problem, suspect.mistake)) {
          continue;
        }
        if (!contradicted(other.mistake, here)) diagnosis.also.push_back(other.mistake);
      }
      close(here, open, findings);
      return diagnosis;
    }
    return std::nullopt;
  }

  /// In what was left out when the limit on the work was met.
  void try_in_all(Suspect& suspect, const Indices& open) {
    std::int64_t work = 0;
    for (const std::size_t i : open) {
      if (suspect.tried.contains(i) || !can_afford(i, work)) continue;
      hold(suspect, i, !is_honest(suspect.mistake));
    }
  }

  /// A deviation of honest code in a form that is not ours: no further from the truth than ours, in
  /// cases that ours fail as well.
  std::optional<Diagnosis> honest_cause(Indices& open, Causes& findings) {
    for (const std::string& mistake : honest_) {
      Indices here;
      absorb(mistake, open, here);
      std::erase_if(here, [&](std::size_t i) {
        const LoadedCase& loaded = exhibit(i).loaded;
        if (beyond_rounding(*exhibit(i).outputs, loaded)) return true;  // rather that
        const std::vector<Tensor> outputs = mistaken(mistake, loaded);
        return outputs.empty() || !fails_clearly(outputs, loaded);
      });
      if (here.empty() || !convinces(here, open) || contradicted(mistake, here)) continue;
      const Diagnosis diagnosis{
          evidence_.problem, mistake, std::ssize(here), std::ssize(evidence_.wrong), {}};
      close(here, open, findings);
      return diagnosis;
    }
    return std::nullopt;
  }

  /// These exhibits have a cause: the next of the diagnoses.
  void close(const Indices& explained, Indices& open, Causes& findings) const {
    for (const std::size_t i : explained) {
      findings.cause_of[order_[i]] = findings.diagnoses.size();
      open.erase(i);
    }
  }

  const Evidence& evidence_;
  Solution& mistakes_;
  std::vector<std::string> names_, honest_;
  std::vector<std::size_t> order_;  // in which the wrong cases are looked at
  std::vector<std::optional<Exhibit>> exhibits_;
  std::map<std::size_t, Leeway> leeways_;
  std::map<std::size_t, LoadedCase> passed_;
};

}  // namespace

Causes diagnose(const Evidence& evidence, Solution& mistakes) {
  Causes nothing;
  nothing.cause_of.assign(evidence.wrong.size(), Causes::none);
  if (evidence.wrong.empty() || !mistakes.load()) return nothing;
  return Court(evidence, mistakes).judge();
}

}  // namespace prenorm::harness
