#include "explain/causes.hpp"

#include "base/paths.hpp"
#include "base/text.hpp"
#include "base/toml_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace prenorm::harness {
namespace {

using Names = std::vector<std::string>;

/// A file of words: those of one component's mistakes.
struct Component {
  Names problems;  // globs
  Names parts;     // components that this is made of
  std::map<std::string, MistakeWords> words;
};

using Components = std::map<std::string, Component>;

Names names_in(const toml::node& node) {
  Names names;
  if (!node.is_array()) return names;
  for (const toml::node& each : *node.as_array()) {
    names.push_back(each.value_or<std::string>(""));
  }
  return names;
}

MistakeWords words_in(const toml::table& table) {
  const auto text = [&](const char* key) { return table[key].value_or<std::string>(""); };
  return {text("name"),    text("sentence"),
          text("right"),   text("wrong"),
          text("hint"),    "",
          text("form_of"), table["honest"].value_or(false)};
}

Component read_component(const fs::path& file) {
  const toml::table table = read_toml(file);
  Component component;
  for (const auto& [key, value] : table) {
    if (key == "problems") component.problems = names_in(value);
    if (key == "parts") component.parts = names_in(value);
    if (value.is_table()) {
      component.words.emplace(std::string(key.str()), words_in(*value.as_table()));
    }
  }
  return component;
}

Components read_components(const fs::path& folder) {
  Components components;
  std::error_code no_folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, no_folder)) {
    const fs::path file = entry.path();
    if (file.extension() == ".toml") components.emplace(file.stem(), read_component(file));
  }
  return components;
}

/// The words in a component's own file, or else in those of its parts.
const MistakeWords* find_in(const Components& components, const std::string& name,
                            const std::string& mistake, std::set<std::string>& searched) {
  const auto component = components.find(name);
  if (component == components.end() || !searched.insert(name).second) return nullptr;
  const auto found = component->second.words.find(mistake);
  if (found != component->second.words.end()) return &found->second;
  for (const std::string& part : component->second.parts) {
    const MistakeWords* words = find_in(components, part, mistake, searched);
    if (words != nullptr) return words;
  }
  return nullptr;
}

/// Those of one mistake: [problem__mistake] comes before [mistake]. Nothing for a problem of no
/// component: what a mistake of that name does elsewhere need not be true of it.
const MistakeWords* find_words(const Components& components, const std::string& problem,
                               const std::string& mistake) {
  for (const auto& [name, component] : components) {
    if (component.problems.empty() || !selects(component.problems, problem)) continue;
    for (const std::string& key : {problem + "__" + mistake, mistake}) {
      std::set<std::string> searched;
      const MistakeWords* words = find_in(components, name, key, searched);
      if (words != nullptr) return words;
    }
  }
  return nullptr;
}

/// "a", "a, and b", "a, b, and c".
std::string enumerated(Names names) {
  if (names.size() > 1) names.back().insert(0, "and ");
  return joined(names);
}

/// The words of several mistakes at once. Where one is a form of another, so is the whole.
MistakeWords together(const std::vector<std::pair<std::string, MistakeWords>>& all) {
  Names names, sentences, right, wrong, hints, forms;
  MistakeWords words;
  words.honest = true;
  bool has_form = false;
  for (const auto& [mistake, each] : all) {
    names.push_back(each.name);
    if (!each.sentence.empty()) sentences.push_back(each.sentence);
    if (!each.right.empty()) right.push_back(each.right);
    if (!each.wrong.empty()) wrong.push_back(each.wrong);
    if (!each.hint.empty()) hints.push_back(each.hint);
    forms.push_back(each.form_of.empty() ? mistake : each.form_of);
    has_form = has_form || !each.form_of.empty();
    words.honest = words.honest && each.honest;
  }
  words.name = enumerated(names);
  words.sentence = joined(sentences, " ");
  words.right = joined(right, "; ");
  words.wrong = joined(wrong, "; ");
  words.hint = joined(hints, " ");
  if (has_form) words.form_of = joined(forms, "+");
  return words;
}

MistakeWords make_words(const Components& components, const std::string& problem,
                        const std::string& mistakes) {
  std::vector<std::pair<std::string, MistakeWords>> all;
  std::istringstream names(mistakes);
  for (std::string mistake; std::getline(names, mistake, '+');) {
    const MistakeWords* known = find_words(components, problem, mistake);
    MistakeWords words = known != nullptr ? *known : MistakeWords{};
    if (words.name.empty()) {
      words.name = mistake;
      std::ranges::replace(words.name, '_', ' ');
    }
    all.emplace_back(mistake, std::move(words));
  }
  return all.size() == 1 ? all.front().second : together(all);
}

/// "all 5 failing cases", "3 of 5 failing cases".
std::string share(std::int64_t part, std::int64_t whole) {
  if (whole == 1) return "the failing case";
  if (part == whole) return fmt::format("all {} failing cases", whole);
  return fmt::format("{} of {} failing cases", part, whole);
}

}  // namespace

const MistakeWords& words_of(const std::string& problem, const std::string& mistake) {
  static const Components components = read_components(home() / "share" / "prenorm" / "mistakes");
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, MistakeWords> known;
  const std::lock_guard lock(mutex);
  const auto [words, is_new] = known.try_emplace({problem, mistake});
  if (is_new) words->second = make_words(components, problem, mistake);
  return words->second;
}

std::string same_mistake(const std::string& problem, const std::string& mistake) {
  const std::string& form_of = words_of(problem, mistake).form_of;
  return form_of.empty() ? mistake : form_of;
}

std::string looks_like(const Diagnosis& diagnosis) {
  std::string text = "looks like " + words_of(diagnosis.problem, diagnosis.mistake).name;
  for (std::size_t i = 0; i < diagnosis.also.size(); ++i) {
    text += i + 1 == diagnosis.also.size() ? ", or " : ", ";
    text += words_of(diagnosis.problem, diagnosis.also[i]).name;
  }
  return text;
}

std::vector<CauseText> causes_of(const std::string& problem, std::span<const Diagnosis> diagnoses,
                                 std::span<const Clue> clues, std::span<const Property> properties,
                                 bool undiagnosed) {
  std::vector<CauseText> causes, found;
  for (const Clue& clue : clues) {
    if (clue.problem != problem) continue;
    MistakeWords words;
    words.sentence = clue.sentence;
    words.example = clue.example;
    found.push_back({clue.heading, std::move(words), true});
    if (clue.law == part_is_wrong) return found;  // all else may come from that
  }
  std::int64_t left = 0;
  for (const Diagnosis& diagnosis : diagnoses) {
    if (diagnosis.problem != problem) continue;
    left = causes.empty() ? diagnosis.of - diagnosis.agrees : left - diagnosis.agrees;
    causes.push_back({looks_like(diagnosis) + " (" + share(diagnosis.agrees, diagnosis.of) + ")",
                      words_of(problem, diagnosis.mistake), true});
  }
  const bool any = !causes.empty();
  if (!any && !undiagnosed) return causes;
  if (any && left == 0) return causes;
  for (const Property& property : properties) {
    if (property.problem != problem) continue;
    const std::string where = property.holds == property.of
                                  ? ""
                                  : fmt::format(" (in {} of {})", property.holds, property.of);
    found.push_back({property.sentence + where});
  }
  if (any) {
    causes.push_back({fmt::format("{} like none of the known mistakes",
                                  left == 1 ? "one failing case more looks"
                                            : fmt::format("{} failing cases more look", left))});
  } else if (found.empty()) {
    causes.push_back({"looks like none of the known mistakes", {}, true});
  }
  std::ranges::move(found, std::back_inserter(causes));
  return causes;
}

std::vector<std::string> lines_of(const MistakeWords& words) {
  std::vector<std::string> lines;
  if (!words.sentence.empty()) lines.push_back(words.sentence);
  if (!words.right.empty()) lines.push_back("right: " + words.right);
  if (!words.wrong.empty()) lines.push_back("wrong: " + words.wrong);
  if (!words.hint.empty()) lines.push_back("hint: " + words.hint);
  if (!words.example.empty()) lines.push_back(words.example);
  return lines;
}

std::vector<std::string> cause_lines(const std::vector<CauseText>& causes) {
  std::vector<std::string> lines;
  for (const CauseText& cause : causes) {
    lines.push_back(cause.heading);
    for (const std::string& line : lines_of(cause.words)) lines.push_back("  " + line);
  }
  return lines;
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
  const bool is_rounding = 2 * counts.close > counts.failed;
  const std::string_view question =
      dtype == "float16"   ? "does something overflow at 65504, or is it rounded too early?"
      : !is_rounding       ? "what is different there?"
      : dtype == "float64" ? "is something computed in float32?"
      : dtype == "float32" ? "is something computed or stored in a narrower type?"
                           : "is something rounded before the end?";
  return fmt::format("{} {}: {}", counted, dtype, question);
}

}  // namespace prenorm::harness
