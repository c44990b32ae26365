#include "explain/collector.hpp"

#include "explain/failing_cases.hpp"
#include "explain/numbers.hpp"
#include "fixture/describe.hpp"

#include <algorithm>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_bytes = 64u << 20;

std::size_t bytes_of(const LoadedCase& loaded) {
  std::size_t bytes = 0;
  for (const auto& input : loaded.inputs) bytes += input ? input->data.size() : 0;
  for (const Tensor& expected : loaded.expected) bytes += 2 * expected.data.size();
  return bytes;
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

}  // namespace

Reasons reasons_of(const Evidence& evidence, Solution* mistakes, Solution* truth, bool pictures,
                   const std::function<FailureText*(std::size_t number)>& told) {
  Causes causes;
  causes.cause_of.assign(evidence.wrong.size(), Causes::none);
  if (mistakes != nullptr) causes = diagnose(evidence, *mistakes);
  std::vector<std::size_t> unexplained;
  std::size_t pictured = 0;
  for (std::size_t i = 0; i < evidence.wrong.size(); ++i) {
    FailureText* text = told(evidence.wrong[i].number);
    if (text == nullptr) continue;
    text->cause = causes.cause_of[i];
    const bool explained = text->cause != Causes::none;
    if (!explained) unexplained.push_back(i);
    if (!pictures || pictured++ >= most_pictured) continue;
    const Diagnosis* cause = explained ? &causes.diagnoses[text->cause] : nullptr;
    text->errors = pictures_of(evidence, evidence.wrong[i], cause, mistakes);
  }
  Reasons reasons{std::move(causes.diagnoses), {}};
  if (truth != nullptr) reasons.properties = properties(evidence, unexplained, *truth);
  return reasons;
}

Collector::Collector(const Fixture& fixture, std::string solution,
                     std::function<LoadedCase(const std::string&)> again)
    : signature_(fixture.signature()), again_(std::move(again)) {
  told_.fixture = fixture.path();
  told_.problem = fixture.problem();
  told_.solution = std::move(solution);
  evidence_.problem = fixture.problem();
  evidence_.signature = &signature_;
}

void Collector::add(const LoadedCase& loaded, const Result& result, std::vector<Tensor> outputs,
                    Solution& ran) {
  const Case& info = loaded.info;
  if (result.status == Status::skipped || result.status == Status::not_implemented) return;
  if (result.status == Status::passed) {
    if (again_ && !info.error) passed_.emplace_back(info.elements(), info.name);
    return;
  }
  FailureText& told = told_.failures[info.name];
  told.sizes = describe_sizes(info, signature_);
  told.description = info.description;
  told.elements = info.elements();
  told.empty = has_no_elements(info);
  told.refusal = info.error && result.status == Status::incorrect_numerical;
  told.hint = axes_hint(result.problem, signature_, loaded, result, ran, calls_);
  const bool wrong = result.status == Status::incorrect_numerical && !info.error &&
                     outputs.size() == loaded.expected.size() &&
                     result.outputs.size() == outputs.size();
  if (!wrong) return;
  told.numbers = numbers_of(signature_, loaded, outputs);
  if (bytes_ + bytes_of(loaded) > most_bytes) return;
  bytes_ += bytes_of(loaded);
  // What was never written is nobody's mistake in the formula.
  if (result.message.ends_with("was never written")) outputs.clear();
  told_.undiagnosed = told_.undiagnosed || !outputs.empty();
  evidence_.wrong.push_back({wrong_.size(), std::move(outputs)});
  wrong_.push_back(loaded);
}

Explanation Collector::explain(Solution* mistakes, Solution* truth, bool pictures) {
  std::ranges::stable_sort(evidence_.wrong, {}, [&](const Evidence::Wrong& wrong) {
    return wrong_[wrong.number].info.elements();
  });
  std::ranges::stable_sort(passed_);
  for (std::size_t i = 0; i < passed_.size(); ++i) {
    evidence_.passed.push_back(wrong_.size() + i);
  }
  evidence_.load = [this](std::size_t number) {
    return number < wrong_.size() ? wrong_[number] : again_(passed_[number - wrong_.size()].second);
  };
  Reasons reasons = reasons_of(evidence_, mistakes, truth, pictures, [&](std::size_t number) {
    return &told_.failures.at(wrong_[number].info.name);
  });
  told_.diagnoses = std::move(reasons.diagnoses);
  told_.properties = std::move(reasons.properties);
  told_.undiagnosed = told_.undiagnosed && told_.diagnoses.empty();
  return std::move(told_);
}

}  // namespace prenorm::harness
