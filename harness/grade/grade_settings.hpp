// How submissions are graded, as a command line says it: one table of all options. The commands
// declare theirs from it, and records, limits and the command that repeats a case are made of it.
#pragma once

#include "fixture/selection.hpp"
#include "base/json.hpp"

#include <optional>
#include <span>
#include <variant>

namespace prenorm::harness {

/// The rubric that is meant where none is named.
inline constexpr const char* usual_rubric = "cs336-2025";
/// The interpreter of the system.
inline constexpr const char* system_python = "/usr/bin/python3";

/// The interpreter that is meant where none is named: that of the active virtual environment, or
/// else the system's.
std::string usual_python();

struct GradeSettings {
  std::string rubric, sandbox;  // empty: the usual ones
  std::string python = system_python;
  double timeout = 10;         // seconds of one call
  double build_timeout = 300;  // seconds
  double budget = 0;           // seconds of all cases; 0: the usual ones (budget.hpp)
  double memory = 4;           // GiB of all processes together
  std::optional<std::uint64_t> seed;
  /// Elements of a case above which the emulator may leave it out; none: most_elements_emulated.
  std::optional<std::uint64_t> emulator_limit;
  bool emulate = false;    // CUDA, even where there is a device
  bool no_hidden = false;  // leaves hidden cases out
  bool quick = false;      // of code, only the first problem with wrong numbers is explained

  Selection selection{.only_shipped = true};  // problems, cases, dtypes to look at; fixtures
  std::vector<std::string> files;  // that the rubric needs, where another grader has found them
  double whole_seconds = 0;        // after which a grader of one submission hangs: Grader sets it
};

/// One of them as an option.
struct GradeSetting {
  using Place = std::variant<std::string GradeSettings::*, double GradeSettings::*,
                             bool GradeSettings::*, std::optional<std::uint64_t> GradeSettings::*>;
  enum class Takes { any, sandbox, interpreter, positive, whole };

  const char* option;  // "--build-timeout"; in records its member is "build_timeout"
  Place place;         // a bool is a flag
  const char* type;    // the word for its value in --help, "SECONDS"; of a flag ""
  const char* help;
  Takes takes = Takes::any;
  bool in_repeat = false;       // in the command that repeats a case
  bool kept_for_class = false;  // a later grading of the same class has it, too

  bool is_flag() const { return std::holds_alternative<bool GradeSettings::*>(place); }
};

/// All of them, in the order in which a repeating command has them. (--help has the flags last.)
std::span<const GradeSetting> grade_settings();
/// The one that is called so.
const GradeSetting& grade_setting(std::string_view option);

/// For a grader in another process, and back.
Json settings_record(const GradeSettings& settings);
GradeSettings settings_of(const Json& record);

/// The limits that points hang on, in words. Not the budget: who ran out of it is not graded whole.
std::string limits_text(const GradeSettings& settings);

/// The sandbox, the interpreter and the limits, for a later grading of the same class.
Json limits_record(const GradeSettings& settings);
/// Takes them from there, but for the options that were typed ("--python", ...). Returns those that
/// are not the usual ones, as they would be typed.
std::string take_limits(GradeSettings& settings, const Json& record,
                        const std::vector<std::string>& typed);

/// What the command that repeats a case of a submission begins with.
std::string repeat_line(const GradeSettings& settings, const std::string& submission);

}  // namespace prenorm::harness
