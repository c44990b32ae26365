#include "explain/collector.hpp"

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "explain/numbers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_bytes = 64u << 20;

std::size_t bytes_of(const LoadedCase& loaded) {
  std::size_t bytes = 0;
  for (const auto& input : loaded.inputs) bytes += input ? input->data.size() : 0;
  for (const Tensor& expected : loaded.expected) bytes += 2 * expected.data.size();
  return bytes;
}

/// Whether the outputs of a case that must not be refused were compared, and numbers were wrong.
bool has_wrong_numbers(const LoadedCase& loaded, const Result& result,
                       const std::vector<Tensor>& outputs) {
  return result.status == Status::incorrect_numerical && !loaded.info.error &&
         outputs.size() == loaded.expected.size() && result.outputs.size() == outputs.size();
}

/// The pictures of a wrong case, with those of the mistake that explains it, if one does.
std::vector<ErrorMap> pictures_of(const Evidence& evidence, const Evidence::Wrong& wrong,
                                  const Diagnosis* diagnosis, Solution* mistakes) {
  const LoadedCase loaded = evidence.load(wrong.number);
  std::vector<Tensor> mistaken;
  if (diagnosis != nullptr && mistakes != nullptr) {
    mistaken = outputs_of(evidence.problem + "__" + diagnosis->mistake, *evidence.signature, loaded,
                          *mistakes);
  }
  return error_maps(*evidence.signature, loaded, wrong.outputs, mistaken);
}

/// Changes the shape of each batched tensor; false where `change` is, which ends it.
bool change_batched(const Signature& signature, LoadedCase& loaded,
                    const std::function<bool(Shape&)>& change) {
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    if (!loaded.inputs[i] || !signature.inputs[i].batched) continue;
    if (!change(loaded.inputs[i]->shape)) return false;
    loaded.info.inputs[i]->type.shape = loaded.inputs[i]->shape;
  }
  for (std::size_t i = 0; i < loaded.expected.size(); ++i) {
    if (!signature.outputs[i].batched) continue;
    if (!change(loaded.expected[i].shape)) return false;
    loaded.info.outputs[i].shape = loaded.expected[i].shape;
  }
  return true;
}

/// One batch axis of size 1 more, in front.
void add_axis(Shape& shape) { shape.insert(shape.begin(), 1); }

/// The case with all batch axes made one; nothing where inputs broadcast, an output is not batched
/// or there is one axis at most.
std::optional<LoadedCase> with_one_batch_axis(const Signature& signature, LoadedCase loaded) {
  const Shape batch = loaded.info.binding.batch;
  if (batch.size() < 2) return std::nullopt;
  for (const auto& output : signature.outputs) {
    if (!output.batched) return std::nullopt;
  }
  const std::int64_t rows = element_count(batch);
  const auto join = [&](Shape& shape) {
    if (shape.size() < batch.size() || !std::equal(batch.begin(), batch.end(), shape.begin())) {
      return false;
    }
    shape.erase(shape.begin(), shape.begin() + std::ssize(batch));
    shape.insert(shape.begin(), rows);
    return true;
  };
  if (!change_batched(signature, loaded, join)) return std::nullopt;
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
    change_batched(signature, *other, [](Shape& shape) { return add_axis(shape), true; });
    add_axis(other->info.binding.batch);
  }
  return other;
}

/// A rule in sizes for what no mistake explains, of the types in which something is wrong; cases
/// without elements pass whatever is wrong.
std::optional<std::string> unexplained_rule(const Evidence& evidence,
                                            const std::vector<std::size_t>& unexplained) {
  if (!evidence.shown) return std::nullopt;
  std::vector<const Case*> passing, failing;
  std::set<DType> types;
  for (const std::size_t i : unexplained) {
    const Case* info = evidence.shown(evidence.wrong[i].number);
    if (info == nullptr) continue;
    failing.push_back(info);
    types.insert(info->dtype());
  }
  for (const std::size_t number : evidence.passed) {
    const Case* info = evidence.shown(number);
    if (info == nullptr || !types.contains(info->dtype()) || info->elements() == 0) continue;
    passing.push_back(info);
  }
  return rule_in_sizes(passing, failing, *evidence.signature);
}

/// Of the wrong cases at these places, which no mistake explains, takes those that are hardly
/// beyond rounding: that is all that there is to tell of them.
std::optional<Property> take_beyond_rounding(const Evidence& evidence,
                                             std::vector<std::size_t>& unexplained) {
  Property told{evidence.problem, "", 0, 0};
  double most = 0;
  std::erase_if(unexplained, [&](std::size_t i) {
    const Evidence::Wrong& wrong = evidence.wrong[i];
    if (wrong.outputs.empty()) return false;
    const auto times = beyond_rounding(wrong.outputs, evidence.load(wrong.number));
    if (wrong.text != nullptr) {  // what hidden cases look like is secret
      ++told.of;
      told.holds += times ? 1 : 0;
      most = std::max(most, times.value_or(0));
    }
    return times.has_value();
  });
  if (told.holds == 0) return std::nullopt;
  told.sentence = fmt::format("beyond rounding, by {}{:.3g} times the tolerance",
                              told.holds > 1 ? "up to " : "", most);
  return told;
}

}  // namespace

void add_case(Evidence& evidence, std::size_t number, const LoadedCase& loaded,
              const Result& result, std::vector<Tensor> outputs, std::int64_t work,
              FailureText* text) {
  if (result.status == Status::passed && !loaded.info.error) evidence.passed.push_back(number);
  if (!has_wrong_numbers(loaded, result, outputs)) return;
  if (text != nullptr) text->numbers = numbers_of(*evidence.signature, loaded, outputs);
  // What was never written is nobody's mistake in the formula.
  if (result.unwritten) outputs.clear();
  evidence.wrong.push_back({number, std::move(outputs), work, text});
}

Reasons reasons_of(Evidence& evidence, Solution* mistakes, Solution* truth, bool pictures) {
  // The small ones first: most mistakes are out of the question after a few.
  std::ranges::stable_sort(evidence.wrong, {}, &Evidence::Wrong::work);
  Causes causes;
  causes.cause_of.assign(evidence.wrong.size(), Causes::none);
  if (mistakes != nullptr) causes = diagnose(evidence, *mistakes);
  std::vector<std::size_t> unexplained;
  std::size_t pictured = 0;
  bool compared = false;
  for (std::size_t i = 0; i < evidence.wrong.size(); ++i) {
    compared = compared || !evidence.wrong[i].outputs.empty();
    if (causes.cause_of[i] == Causes::none) unexplained.push_back(i);
    FailureText* text = evidence.wrong[i].text;
    if (text == nullptr) continue;
    text->cause = causes.cause_of[i];
    const bool explained = text->cause != Causes::none;
    if (!pictures || pictured++ >= most_pictured) continue;
    const Diagnosis* cause = explained ? &causes.diagnoses[text->cause] : nullptr;
    text->errors = pictures_of(evidence, evidence.wrong[i], cause, mistakes);
  }
  Reasons reasons;
  reasons.diagnoses = std::move(causes.diagnoses);
  reasons.undiagnosed = compared && reasons.diagnoses.empty();
  std::optional<Property> little = take_beyond_rounding(evidence, unexplained);
  for (const std::size_t i : unexplained) {
    const std::vector<Tensor>& outputs = evidence.wrong[i].outputs;
    if (outputs.empty()) continue;
    if (!reasons.unexplained || outputs.front().dtype == DType::float32) {
      reasons.unexplained = outputs.front().dtype;
    }
  }
  std::erase_if(unexplained, [&](std::size_t i) { return evidence.wrong[i].text == nullptr; });
  if (truth != nullptr) reasons.properties = properties(evidence, unexplained, *truth);
  if (const auto rule = unexplained_rule(evidence, unexplained)) {
    reasons.properties.insert(reasons.properties.begin(), {evidence.problem, *rule, 1, 1});
  }
  if (little) reasons.properties.insert(reasons.properties.begin(), std::move(*little));
  return reasons;
}

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

Collector::Collector(const Fixture& fixture, std::string solution,
                     std::function<LoadedCase(const std::string&)> again)
    : signature_(fixture.signature()), again_(std::move(again)) {
  explanation_.fixture = fixture.path();
  explanation_.problem = fixture.problem();
  explanation_.solution = std::move(solution);
  evidence_.problem = fixture.problem();
  evidence_.signature = &signature_;
}

void Collector::add(const LoadedCase& loaded, const Result& result, std::vector<Tensor> outputs,
                    Solution& ran) {
  const Case& info = loaded.info;
  if (result.status == Status::skipped || result.status == Status::not_implemented) return;
  if (result.status == Status::passed) {
    if (again_ && !info.error) passed_.push_back(info);
    return;
  }
  if (!ran.on_device()) asked_ = ran.label();
  FailureText& text = explanation_.failures[info.name];
  text = failure_text(info, signature_, result);
  text.hint = axes_hint(result.problem, signature_, loaded, result, ran, calls_);
  if (!has_wrong_numbers(loaded, result, outputs)) return;
  if (bytes_ + bytes_of(loaded) > most_bytes) {
    text.numbers = numbers_of(signature_, loaded, outputs);
    return;
  }
  bytes_ += bytes_of(loaded);
  add_case(evidence_, wrong_.size(), loaded, result, std::move(outputs), info.work(), &text);
  wrong_.push_back(loaded);
}

Explanation Collector::explain(Solution* mistakes, Solution* truth, Solution* asked,
                               bool pictures) {
  std::ranges::sort(passed_, {},
                    [](const Case& info) { return std::pair(info.work(), info.name); });
  for (std::size_t i = 0; i < passed_.size(); ++i) {
    evidence_.passed.push_back(wrong_.size() + i);
  }
  evidence_.load = [this](std::size_t number) {
    return number < wrong_.size() ? wrong_[number] : again_(passed_[number - wrong_.size()].name);
  };
  evidence_.shown = [this](std::size_t number) {
    return number < wrong_.size() ? &wrong_[number].info : &passed_[number - wrong_.size()];
  };
  explanation_.reasons = reasons_of(evidence_, mistakes, truth, pictures);
  Reasons& reasons = explanation_.reasons;
  if (reasons.unexplained && truth != nullptr && asked != nullptr) {
    const Witness witness{*asked, *truth, nullptr};
    reasons.clues = clues_to(explanation_.problem, signature_, *reasons.unexplained, witness);
  }
  return std::move(explanation_);
}

Collectors::Collectors(const std::vector<SelectedFixture>& files, bool fresh)
    : files_(files), fresh_(fresh), of_files_(files.size()) {}

void Collectors::add(std::size_t file, const LoadedCase& loaded, const Result& result,
                     std::vector<Tensor> outputs, Solution& ran) {
  std::map<std::string, Collector>& of_file = of_files_[file];
  auto collector = of_file.find(result.solution);
  if (collector == of_file.end()) {
    std::function<LoadedCase(const std::string&)> again;
    if (!fresh_) {
      again = [&from = files_[file]](const std::string& name) {
        return load_case(*from.fixture, **std::ranges::find(from.cases, name, &Case::name));
      };
    }
    collector =
        of_file
            .try_emplace(result.solution, *files_[file].fixture, result.solution, std::move(again))
            .first;
  }
  collector->second.add(loaded, result, std::move(outputs), ran);
}

std::vector<Explanation> Collectors::explain(std::vector<SolutionPool>& pools, bool pictures) {
  std::vector<Collector*> failed;
  for (auto& of_file : of_files_) {
    for (auto& [solution, collector] : of_file) {
      if (collector.any_failed()) failed.push_back(&collector);
    }
  }
  std::vector<Explanation> all(failed.size());
  const auto jobs = static_cast<unsigned>(pools.size());
  in_parallel(failed.size(), jobs, [&](std::size_t i, std::size_t thread) {
    const auto get = [&](const std::string& name) -> Solution* {
      return is_shipped(name) ? &pools[thread].get(name) : nullptr;
    };
    const std::string& name = failed[i]->asked();
    Solution* const asked = name.empty() ? nullptr : &pools[thread].get(name);
    all[i] = failed[i]->explain(get("mistakes"), get("reference"), asked, pictures);
  });
  return all;
}

std::string FileFailures::likeness() const {
  std::string text;
  for (const FailingCase& each : cases) {
    text +=
        each.result->case_name.value_or("") + " " + std::string(name(each.result->status)) + "\n";
  }
  return text + joined(cause_lines(causes), "\n");
}

std::vector<FileFailures> failures_of(const Report& report,
                                      const std::vector<Explanation>& explanations) {
  std::map<std::pair<std::string, std::string>, const Explanation*> explained;
  for (const Explanation& each : explanations) explained[{each.fixture, each.solution}] = &each;
  std::vector<FileFailures> all;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Result& result : report.results) {
    const std::pair key(result.fixture, result.solution);
    const auto [place, is_new] = places.try_emplace(key, all.size());
    if (is_new) all.push_back({{}, result.fixture, result.problem, result.solution});
    if (result.status != Status::passed && !is_failure(result)) continue;
    const auto found = explained.find(key);
    const FailureText* text = nullptr;
    if (found != explained.end() && result.case_name) {
      const auto& texts = found->second->failures;
      const auto of_case = texts.find(*result.case_name);
      if (of_case != texts.end()) text = &of_case->second;
    }
    all[place->second].add(result, text, is_failure(result));
  }
  std::erase_if(all, [](const FileFailures& failures) { return failures.cases.empty(); });
  for (FileFailures& failures : all) {
    const auto found = explained.find({failures.fixture, failures.solution});
    if (found == explained.end()) continue;
    const Explanation& why = *found->second;
    failures.causes = causes_of(why.problem, why.reasons.diagnoses, why.reasons.clues,
                                why.reasons.properties, why.reasons.undiagnosed);
  }
  return all;
}

}  // namespace prenorm::harness
