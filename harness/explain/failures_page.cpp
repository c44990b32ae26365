#include "explain/failures_page.hpp"

#include "base/json.hpp"
#include "base/printable.hpp"
#include "explain/blocks.hpp"
#include "explain/case_page.hpp"
#include "report/page.hpp"

#include <fmt/format.h>
#include <sstream>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_cases = 40;  // of a problem and solution; pages stay readable

Json block_values(const Block& block) {
  Json cases = Json::array();
  if (!block.all_alike()) {
    for (const std::size_t i : simplest_first(block.cases())) {
      if (cases.size() == most_cases) break;
      const Result& result = *block.failed[i];
      const FailureText* told = block.told(result);
      cases.push_back(
          failing_case_values(result, told == nullptr ? FailureText{} : *told, cases.empty()));
    }
  }
  const Result& first = *block.failed.front();
  std::vector<CauseText> causes;
  if (block.why != nullptr) causes = block.why->causes();
  for (const std::string& line : {refusal_line(block.refusals()), dtype_line(block.by_dtype)}) {
    if (!line.empty()) causes.push_back({line, "", ""});
  }
  const std::size_t left = block.all_alike() ? 0 : block.failed.size() - cases.size();
  return {{"problem", printable(block.problem.empty() ? block.fixture : block.problem, 200)},
          {"solution", printable(block.solution, 200)},
          {"failed", block.failed.size()},
          {"asked", block.asked},
          {"causes", cause_values(causes)},
          {"alike", block.all_alike() ? Json{{"status", name(first.status)},
                                             {"message", printable(first.message, 4000)},
                                             {"repeat", first.repeat}}
                                      : Json{}},
          {"cases", cases},
          {"left", left > 0 ? Json{{"count", left}} : Json{}}};
}

}  // namespace

std::string explained_html(const Report& report, const std::vector<Explanation>& explanations) {
  const Table table = overview(report);
  Json rows = Json::array(), notes = Json::array(), failures = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) {
      cells.push_back({{"text", cell.text}, {"tone", css_class(cell.tone)}});
    }
    rows.push_back({{"cells", cells}});
  }
  std::istringstream left_out(omissions(report));
  for (std::string line; std::getline(left_out, line);) notes.push_back(line);
  for (const Block& block : blocks_of(report, explanations))
    failures.push_back(block_values(block));
  std::string facts;
  for (const auto& [what, value] : describe_environment()) {
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", what, value);
  }
  return render_page("verify", {{"page_title", "prenorm " + report.command},
                                {"summary", summary_line(report, false)},
                                {"head", table.head},
                                {"rows", rows},
                                {"notes", notes},
                                {"failures", listed(failures)},
                                {"facts", facts}});
}

}  // namespace prenorm::harness
