#include "cli/options.hpp"

namespace prenorm::harness {

Option* add_repeatable(Arguments& command, const std::string& name,
                       std::vector<std::string>& values, const std::string& description) {
  return command.add_option(name, values, description)->one_at_a_time();
}

void add_picture_options(Arguments& command, std::string& html, std::string& svg) {
  command
      .add_option("--html", html,
                  "Write a page with the tables, and pictures of the requests that cost most")
      ->type_name("FILE");
  command
      .add_option("--svg", svg,
                  "Write a picture of one request: of the line that costs most, or of --line")
      ->type_name("FILE");
}

void add_jobs_option(Arguments& command, unsigned& jobs) {
  command
      .add_option("--jobs", jobs,
                  "Files to process in parallel (default: the number of processors)")
      ->check(in_range(1, 4096))
      ->type_name("N");
}

void add_case_options(Arguments& command, Selection& selection) {
  add_repeatable(command, "--case", selection.cases, "Only this case (glob)")->type_name("NAME");
  add_repeatable(command, "--dtype", selection.dtypes,
                 "Only this dtype: float64, float32, float16 or bfloat16")
      ->type_name("TYPE");
}

void add_selection_options(Arguments& command, Selection& selection) {
  add_repeatable(command, "--fixtures", selection.fixtures,
                 "Fixture file, or folder of them (default: the shipped ones)")
      ->type_name("PATH");
  add_repeatable(command, "--problem", selection.problems,
                 "Only this problem (glob, as in 'ffn_*')")
      ->type_name("NAME");
  add_case_options(command, selection);
}

void add_yardstick_options(Arguments& command, YardstickNames& names) {
  const auto add = [&command](const char* option, std::string& name, const char* what) {
    command.add_option(option, name, what)->capture_default_str()->type_name("SOLUTION");
  };
  add("--textbook", names.textbook, "Solution whose error sets the tolerances");
  add("--textbook-tf32", names.textbook_tf32,
      "The same for tf32 tolerances; a problem that it lacks gets none");
  add("--truth", names.truth, "Solution that computes the expected values, in float64");
}

}  // namespace prenorm::harness
