#include "explain/explanation.hpp"

#include "base/text.hpp"
#include "explain/known_mistakes.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

/// "all 5 failing cases", "3 of 5 failing cases".
std::string share(std::int64_t part, std::int64_t whole) {
  if (whole == 1) return "the failing case";
  if (part == whole) return fmt::format("all {} failing cases", whole);
  return fmt::format("{} of {} failing cases", part, whole);
}

}  // namespace

std::string looks_like(const Diagnosis& diagnosis) {
  std::string text = "looks like " + words_of(diagnosis.problem, diagnosis.mistake).name;
  for (std::size_t i = 0; i < diagnosis.also.size(); ++i) {
    text += i + 1 == diagnosis.also.size() ? ", or " : ", ";
    text += words_of(diagnosis.problem, diagnosis.also[i]).name;
  }
  return text;
}

std::vector<CauseText> causes_of(const std::string& problem, std::span<const Diagnosis> diagnoses,
                                 std::span<const Property> properties, bool undiagnosed) {
  std::vector<CauseText> causes;
  std::int64_t left = 0;
  for (const Diagnosis& diagnosis : diagnoses) {
    if (diagnosis.problem != problem) continue;
    left = causes.empty() ? diagnosis.of - diagnosis.agrees : left - diagnosis.agrees;
    const auto words = words_of(problem, diagnosis.mistake);
    causes.push_back({looks_like(diagnosis) + " (" + share(diagnosis.agrees, diagnosis.of) + ")",
                      words.sentence, words.hint});
  }
  const bool any = !causes.empty();
  if (!any && !undiagnosed) return causes;
  if (any && left == 0) return causes;
  std::vector<CauseText> found;
  for (const Property& property : properties) {
    if (property.problem != problem) continue;
    const std::string where =
        property.of == 1 ? "" : fmt::format(" ({} of {} looked at)", property.holds, property.of);
    found.push_back({property.sentence + where, "", ""});
  }
  if (any) {
    causes.push_back({fmt::format("{} like none of the known mistakes",
                                  left == 1 ? "one failing case more looks"
                                            : fmt::format("{} failing cases more look", left)),
                      "", ""});
  } else if (found.empty()) {
    causes.push_back({"looks like none of the known mistakes", "", ""});
  }
  std::ranges::move(found, std::back_inserter(causes));
  return causes;
}

std::vector<std::string> cause_lines(const std::vector<CauseText>& causes) {
  std::vector<std::string> lines;
  for (const CauseText& cause : causes) {
    lines.push_back(cause.heading);
    if (!cause.sentence.empty()) lines.push_back("  " + cause.sentence);
    if (!cause.hint.empty()) lines.push_back("  hint: " + cause.hint);
  }
  return lines;
}

std::string kinds_line(std::int64_t wrong, std::int64_t failed) {
  if (wrong == 0 || wrong == failed) return "";
  return fmt::format("of the {} with wrong numbers ({} failed otherwise):",
                     counted(static_cast<std::size_t>(wrong), "case"), failed - wrong);
}

std::string refusal_line(std::int64_t count) {
  if (count == 0) return "";
  return count == 1 ? "answers a call that it must refuse"
                    : fmt::format("answers {} calls that it must refuse", count);
}

std::string dtype_line(const std::map<std::string, Failed>& by_dtype) {
  std::int64_t all = 0;
  const std::pair<const std::string, Failed>* most = nullptr;
  for (const auto& each : by_dtype) {
    all += each.second.failed;
    if (most == nullptr || each.second.failed > most->second.failed) most = &each;
  }
  if (all < 3 || by_dtype.size() < 2) return "";
  const auto& [dtype, counts] = *most;
  // Of the others few fail, though there are some.
  Failed others;
  for (const auto& [name, each] : by_dtype) {
    if (name == dtype) continue;
    others.failed += each.failed;
    others.asked += each.asked;
  }
  if (5 * counts.failed < 4 * all || 4 * others.failed > others.asked || others.asked == 0) {
    return "";
  }
  const std::string counted =
      counts.failed == all ? fmt::format("all {} failing cases are", all)
                           : fmt::format("{} of the {} failing cases are", counts.failed, all);
  const std::string_view question =
      dtype == "float64"    ? "is something computed in float32?"
      : dtype == "float32"  ? "is something computed or stored in a narrower type?"
      : dtype == "float16"  ? "does something overflow at 65504, or is it rounded too early?"
      : dtype == "bfloat16" ? "is something rounded before the end?"
                            : "what is different there?";
  return fmt::format("{} {}: {}", counted, dtype, question);
}

}  // namespace prenorm::harness
