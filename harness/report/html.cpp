#include "report/page.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr std::string_view style = R"(
td + td { white-space: nowrap; }
article { margin: 1rem 0; } article p { margin: .1rem 0; }
)";

std::string_view css_class(Tone tone) {
  switch (tone) {
    case Tone::good: return "good";
    case Tone::bad: return "bad";
    case Tone::quiet: return "quiet";
    default: return "";
  }
}

std::string table_of(const Table& table) {
  std::string text = "<div class=\"scroll\"><table>\n<tr>";
  for (const std::string& title : table.head) {
    text += "<th scope=\"col\">" + escaped(title) + "</th>";
  }
  text += "</tr>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (const Cell& cell : row) {
      text += fmt::format("<td class=\"{}\">{}</td>", css_class(cell.tone), escaped(cell.text));
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string article(const Result& result) {
  const std::string label =
      result.case_name ? result.problem + " / " + *result.case_name : result.fixture;
  std::string text = fmt::format("<article>\n<p><span class=\"bad\">{}</span> <b>{}</b> {}",
                                 name(result.status), escaped(label), escaped(result.dtype));
  if (!result.solution.empty()) text += " by <b>" + escaped(result.solution) + "</b>";
  text += "</p>\n<p>" + escaped(result.message) + "</p>\n";
  if (!result.repeat.empty()) text += "<p><code>" + escaped(result.repeat) + "</code></p>\n";
  return text + "</article>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  std::string facts;
  for (const auto& [what, value] : describe_environment()) {
    facts += (facts.empty() ? "" : ", ") + escaped(what) + " " + escaped(value);
  }
  const std::string left_out = omissions(report);
  std::string articles;
  for (const Result& result : report.results) {
    const bool ran_and_passed = result.status == Status::passed;
    const bool did_not_run =
        result.status == Status::skipped || result.status == Status::not_implemented;
    if (!ran_and_passed && !did_not_run) articles += article(result);
  }
  std::string notes;
  for (std::size_t begin = 0; begin < left_out.size();) {
    const std::size_t end = std::min(left_out.find('\n', begin), left_out.size());
    notes += "<p class=\"quiet\">" + escaped(left_out.substr(begin, end - begin)) + "</p>\n";
    begin = end + 1;
  }
  const std::string title = "prenorm " + report.command;
  return html_page(
      title, style,
      fmt::format("<h1>{}</h1>\n<p>{}</p>\n{}{}{}{}<p class=\"quiet\">{}</p>\n", escaped(title),
                  escaped(summary_line(report, false)), table_of(overview(report)), notes,
                  articles.empty() ? "" : "<h2>Failures</h2>\n", articles, facts));
}

}  // namespace prenorm::harness
