#include "printable.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #8886; padding: .3rem .9rem .3rem 0; text-align: left; }
td + td { white-space: nowrap; }
.good { color: #1a7f37; } .bad { color: #cf222e; font-weight: 600; } .quiet { opacity: .65; }
.scroll { overflow-x: auto; } article { margin: 1rem 0; } article p { margin: .1rem 0; }
code { background: #8882; padding: .1rem .3rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .good { color: #3fb950; } .bad { color: #ff7b72; } }
)";

/// Text for the page: safe on one line, and with the characters that HTML keeps for itself escaped.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : printable(text, 4000)) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += c;
    }
  }
  return safe;
}

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
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>prenorm {}</title>\n<style>{}</style>\n</head>\n<body>\n<h1>prenorm {}</h1>\n"
      "<p>{}</p>\n{}{}{}{}<p class=\"quiet\">{}</p>\n</body>\n</html>\n",
      escaped(report.command), style, escaped(report.command), escaped(summary_line(report, false)),
      table_of(overview(report)), notes, articles.empty() ? "" : "<h2>Failures</h2>\n", articles,
      facts);
}

}  // namespace prenorm::harness
