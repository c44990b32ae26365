// What failed, and why, on a page.
#include "base/text.hpp"
#include "explain/failures_report.hpp"
#include "explain/numbers.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_text = 1000;  // bytes of a text from outside

/// Lines, each safe for itself: HTML.
std::string escaped_lines(const std::string& text) {
  std::string lines;
  for (const std::string& line : lines_of(text)) lines += escaped(line, 2000) + "\n";
  return lines;
}

/// What is known of one output that was compared: how many miss, and the worst.
Json output_values(const OutputReport& output, bool alone) {
  const double share = output.elements > 0 ? 100.0 * static_cast<double>(output.mismatches) /
                                                 static_cast<double>(output.elements)
                                           : 0;
  Json worst;
  if (output.worst_actual && output.worst_expected) {
    const double actual = *output.worst_actual, expected = *output.worst_expected;
    const auto [got, wanted] = told_apart(actual, expected);
    const double bound = output.atol + output.rtol * std::abs(expected);
    const double error = std::abs(actual - expected);
    const auto number = [](double value, bool shown) {
      return shown ? short_number(value) : std::string();
    };
    worst = {{"index", printable(output.name + to_text(output.worst_index), most_text)},
             {"actual", got},
             {"expected", wanted},
             {"error", number(error, std::isfinite(error))},
             {"times", number(error / bound, bound > 0)},
             {"bound", number(bound, bound > 0 && std::isfinite(bound))},
             {"exact", !(bound > 0) && std::isfinite(bound)},
             {"atol", short_number(output.atol)},
             {"rtol", short_number(output.rtol)}};
  }
  std::string largest;
  const auto add = [&](const std::optional<double>& value, std::string_view what) {
    if (value) largest += (largest.empty() ? "" : ", ") + short_number(*value) + std::string(what);
  };
  add(output.max_abs_error, " absolute");
  add(output.max_rel_error, " relative");
  add(output.max_ulp_error, " units in the last place");
  return {{"any", output.mismatches > 0},
          {"shown", !output.passes() || alone},
          {"together", together_text(output)},
          {"output", printable(output.name, 100)},
          {"mismatches", output.mismatches},
          {"elements", output.elements},
          {"share", fmt::format("{:.3g}", share)},
          {"worst", worst},
          {"largest", largest}};
}

Json figure_values(const ErrorMap& map, const Result& result) {
  const auto found = std::ranges::find(result.outputs, map.tensor, &OutputReport::name);
  const OutputReport* report = found == result.outputs.end() ? nullptr : &*found;
  std::int64_t elements = 1;
  for (const std::int64_t extent : map.shape) elements *= extent;
  Json axes = Json::array();
  for (const ErrorMap::Axis& axis : map.axes) {
    const std::string picture = error_along(axis, map.tensor);
    if (picture.empty()) continue;
    axes.push_back({{"picture", picture}, {"axis", printable(axis.name, 100)}});
  }
  return {{"map", heat_map(map, report)},
          {"mistake", map.mistake.empty() ? "" : mistake_map(map)},
          {"bars", histogram(map, report)},
          {"ulps", ulp_histogram(map)},
          {"axes", axes},
          {"shape", printable(map.tensor + to_text(map.shape), 200)},
          {"pooled", map.rows * map.columns != elements},
          {"crosses",
           std::ranges::any_of(map.cells, [](double ratio) { return !std::isfinite(ratio); })}};
}

constexpr std::size_t most_on_page = 40;  // of a problem and solution; pages stay readable

Json failures_values(const FileFailures& failures) {
  Json cases = Json::array();
  const bool alike = failures.one_message();
  if (!alike) {
    for (const FailingCase& each : failures.simplest_first()) {
      if (cases.size() == most_on_page) break;
      cases.push_back(failing_case_values(
          *each.result, each.text == nullptr ? FailureText{} : *each.text, cases.empty()));
    }
  }
  const Result& first = *failures.cases.front().result;
  std::vector<CauseText> causes = failures.causes;
  for (const std::string& remark : failures.remarks()) causes.push_back({remark});
  const std::size_t left = alike ? 0 : failures.cases.size() - cases.size();
  return {
      {"problem", printable(failures.problem.empty() ? failures.fixture : failures.problem, 200)},
      {"solution", printable(failures.solution, 200)},
      {"failed", failures.cases.size()},
      {"asked", failures.asked},
      {"causes", cause_values(causes)},
      {"alike", alike ? Json{{"status", name(first.status)},
                             {"message", first.message},
                             {"repeat", first.repeat}}
                      : Json{}},
      {"cases", cases},
      {"left", left > 0 ? Json{{"count", left}} : Json{}}};
}

}  // namespace

std::string_view meaning_of(Status status) {
  switch (status) {
    case Status::not_implemented: return "There is no function for it yet.";
    case Status::incorrect_shape: return "The result has another shape than is wanted.";
    case Status::incorrect_dtype: return "The result has another element type than is wanted.";
    case Status::incorrect_numerical: return "Some numbers are wrong.";
    case Status::input_mutated: return "The function changed one of its inputs.";
    case Status::out_of_bounds: return "The function read or wrote outside its tensors.";
    case Status::nondeterministic: return "The same call gave other numbers the second time.";
    case Status::runtime_error: return "The function failed, or the process died in it.";
    case Status::timeout: return "There was no answer in time.";
    case Status::out_of_memory: return "It took more memory than it may.";
    case Status::sandbox_violation: return "It tried what a submission may not do.";
    case Status::compile_error: return "It could not be built.";
    case Status::load_error: return "It could not be loaded.";
    case Status::bad_fixture: return "A file could not be read.";
    case Status::skipped: return "It was left out.";
    default: return "";
  }
}

Json case_values(const Result& result, const FailureText& text) {
  return {{"case_name", printable(result.case_name.value_or(result.fixture), 200)},
          {"dtype", printable(result.dtype, 50)},
          {"shapes", printable(text.sizes, most_text)},
          {"status", name(result.status)},
          {"meaning", text.refusal ? "It must refuse this call." : meaning_of(result.status)},
          {"message", printable(result.message, most_text)},
          {"repeat", result.repeat},
          {"not_repeated", text.not_repeated}};
}

Json failing_case_values(const Result& result, const FailureText& text, bool open) {
  Json values = case_values(result, text), outputs = Json::array(), figures = Json::array();
  for (const OutputReport& output : result.outputs) {
    outputs.push_back(output_values(output, result.outputs.size() == 1));
  }
  for (const ErrorMap& map : text.errors) figures.push_back(figure_values(map, result));
  values.update({{"open", open},
                 {"outputs", outputs},
                 {"figures", figures},
                 {"description", text.refusal ? "" : printable(text.description, most_text)},
                 {"numbers", escaped_lines(text.numbers)},
                 {"printed", escaped_lines(result.printed)},
                 {"snippet", escaped_lines(text.snippet)},
                 {"hint", printable(text.hint, most_text)}});
  return values;
}

Json cause_values(const std::vector<CauseText>& causes) {
  if (causes.empty()) return {};
  Json each = Json::array();
  for (const CauseText& cause : causes) {
    std::string heading = cause.heading;
    if (cause.capital) heading[0] = static_cast<char>(std::toupper(heading[0]));
    each.push_back({{"heading", printable(heading, most_text)},
                    {"sentence", printable(cause.words.sentence, most_text)},
                    {"right", printable(cause.words.right, most_text)},
                    {"wrong", printable(cause.words.wrong, most_text)},
                    {"hint", printable(cause.words.hint, most_text)},
                    {"example", printable(cause.words.example, most_text)}});
  }
  return {{"each", each}};
}

std::string explained_html(const Report& report, const std::vector<Explanation>& explanations) {
  const Table table = overview(report);
  Json failures = Json::array();
  for (const FileFailures& each : failures_of(report, explanations)) {
    failures.push_back(failures_values(each));
  }
  return render_page("verify", {{"page_title", "prenorm " + report.command},
                                {"summary", summary_line(report, false)},
                                {"head", table.head},
                                {"rows", array_of(table.rows,
                                                  [](const auto& row) -> Json {
                                                    return {{"cells", cell_values(row)}};
                                                  })},
                                {"notes", lines_of(omissions(report))},
                                {"failures", listed(failures)},
                                {"facts", environment_text()}});
}

}  // namespace prenorm::harness
