#include "grade/grade_settings.hpp"

#include "base/paths.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

using Takes = GradeSetting::Takes;
constexpr bool repeated = true, kept = true;

constexpr std::array settings_table{
    GradeSetting{"--rubric", &GradeSettings::rubric, "NAME|FILE",
                 "A shipped rubric or a .toml file (default: cs336-2025)", Takes::any, repeated},
    GradeSetting{"--sandbox", &GradeSettings::sandbox, "KIND",
                 "Where it runs (default: bubblewrap if it works)", Takes::sandbox, repeated, kept},
    GradeSetting{"--emulate", &GradeSettings::emulate, "",
                 "Run CUDA in the emulator, even if there is a device", Takes::any, repeated},
    GradeSetting{"--emulator-limit", &GradeSettings::emulator_limit, "N",
                 "Elements above which a case is left out if the emulator takes too long\n"
                 "(default: 65536)",
                 Takes::whole, repeated, kept},
    GradeSetting{"--python", &GradeSettings::python, "PATH",
                 "Interpreter for Python submissions: by default that of the active virtual\n"
                 "environment, or else the system's",
                 Takes::interpreter, repeated, kept},
    GradeSetting{"--timeout", &GradeSettings::timeout, "SECONDS",
                 "Processor time for one call (default: 10); by the clock, limits of time are\n"
                 "ten times as long",
                 Takes::positive, repeated, kept},
    GradeSetting{"--build-timeout", &GradeSettings::build_timeout, "SECONDS",
                 "Processor time of each of the two compilers that build (default: 300)",
                 Takes::positive, repeated, kept},
    GradeSetting{"--budget", &GradeSettings::budget, "SECONDS",
                 "Processor time for all cases of one submission (default: 300, or 0.5 per case\n"
                 "where that is more); with cases left it is not graded whole",
                 Takes::positive, repeated, kept},
    GradeSetting{"--memory", &GradeSettings::memory, "GIB",
                 "Memory limit for all processes together (default: 4)", Takes::positive, repeated,
                 kept},
    GradeSetting{"--seed", &GradeSettings::seed, "N",
                 "Seed of the hidden cases. Random by default.\n"
                 "Never reuse a seed that students may know",
                 Takes::whole},
    GradeSetting{"--no-hidden", &GradeSettings::no_hidden, "", "Skip hidden cases"},
    GradeSetting{"--quick", &GradeSettings::quick, "",
                 "Explain only the first problem with wrong numbers"},
};

std::string member_of(const GradeSetting& setting) {
  std::string member = std::string(setting.option).substr(2);
  std::ranges::replace(member, '-', '_');
  return member;
}

void record_setting(Json& record, const GradeSetting& setting, const GradeSettings& settings) {
  record[member_of(setting)] =
      std::visit([&](auto place) { return member_json(settings.*place); }, setting.place);
}

/// False: an earlier program has not recorded it.
bool take_setting(GradeSettings& settings, const GradeSetting& setting, const Json& record) {
  const auto found = record.find(member_of(setting));
  if (found == record.end()) return false;
  std::visit([&](auto place) { take_member(*found, settings.*place); }, setting.place);
  return true;
}

template <class T>
std::string typed_value(const T& value) {
  return fmt::format("{}", value);
}
std::string typed_value(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "";
}

/// As it would be typed, unless it is the usual one.
void add_words(std::vector<std::string>& words, const GradeSetting& setting,
               const GradeSettings& settings, const GradeSettings& usual) {
  const auto add = [&](auto place) {
    if (settings.*place == usual.*place) return;
    words.emplace_back(setting.option);
    if (!setting.is_flag()) words.push_back(typed_value(settings.*place));
  };
  std::visit(add, setting.place);
}

}  // namespace

std::span<const GradeSetting> grade_settings() { return settings_table; }

const GradeSetting& grade_setting(std::string_view option) {
  return *std::ranges::find(settings_table, option, &GradeSetting::option);
}

std::string usual_python() {
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment != nullptr) {
    const fs::path python = fs::path(environment) / "bin" / "python";
    if (python.is_absolute() && ::access(python.c_str(), X_OK) == 0) return python;
  }
  return system_python;
}

Json settings_record(const GradeSettings& settings) {
  Json record;
  for (const GradeSetting& setting : settings_table) record_setting(record, setting, settings);
  record["fixtures"] = settings.selection.fixtures;
  record["files"] = settings.files;
  record["whole_time"] = settings.whole_seconds;
  return record;
}

GradeSettings settings_of(const Json& record) {
  GradeSettings settings;
  for (const GradeSetting& setting : settings_table) take_setting(settings, setting, record);
  record.at("fixtures").get_to(settings.selection.fixtures);
  record.at("files").get_to(settings.files);
  settings.whole_seconds = record.value("whole_time", 0.0);
  return settings;
}

std::string limits_text(const GradeSettings& settings) {
  return fmt::format("{} s a call, {} s to build, {} GiB; sandbox {}; {}", settings.timeout,
                     settings.build_timeout, settings.memory,
                     settings.sandbox.empty() ? "as it works" : settings.sandbox, settings.python);
}

Json limits_record(const GradeSettings& settings) {
  Json record;
  for (const GradeSetting& setting : settings_table) {
    if (setting.kept_for_class) record_setting(record, setting, settings);
  }
  return record;
}

std::string take_limits(GradeSettings& settings, const Json& record,
                        const std::vector<std::string>& typed) {
  GradeSettings usual;
  usual.python = usual_python();
  std::vector<std::string> words;
  for (const GradeSetting& setting : settings_table) {
    if (!setting.kept_for_class || std::ranges::count(typed, setting.option) > 0) continue;
    if (take_setting(settings, setting, record)) add_words(words, setting, settings, usual);
  }
  return shell_line(words);
}

std::string repeat_line(const GradeSettings& settings, const std::string& submission) {
  GradeSettings usual;
  usual.rubric = usual_rubric;
  std::vector<std::string> words{program_name(), "grade", submission};
  for (const GradeSetting& setting : settings_table) {
    if (setting.in_repeat) add_words(words, setting, settings, usual);
  }
  for (const std::string& path : settings.selection.fixtures) {
    words.insert(words.end(), {"--fixtures", path});
  }
  return shell_line(words);
}

}  // namespace prenorm::harness
