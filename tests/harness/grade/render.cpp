// render FORMAT [VISIBILITY]: the report of a grading whose record is read from standard input, or
// the page of a class whose overview is. In the input U+E0FF stands for a byte that is no UTF-8,
// which JSON cannot hold.
#include "class/class_overview.hpp"
#include "grade/grading_record.hpp"

#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>

using namespace prenorm::harness;

namespace prenorm::harness {
PRENORM_JSON(OverviewPoints, earned, set_by_hand, graded, why)
PRENORM_JSON(OverviewRow, submission, name, id, email, handed_in, outdated, absent, graded, counted,
             points, total, passed, failed, skipped, flags, page)
PRENORM_JSON(OverviewItem, name, problems, points, earned, full, rows)
PRENORM_JSON(Overview, gradebook, rubric, title, items, points, rows, mistakes, histogram, mean,
             median, deadline)
}  // namespace prenorm::harness

namespace {

void put_bad_bytes(Json& value) {
  if (value.is_structured()) {
    for (Json& each : value) put_bad_bytes(each);
  } else if (value.is_string()) {
    std::string& text = value.get_ref<std::string&>();
    for (std::size_t at = 0; (at = text.find("\ue0ff", at)) != text.npos;)
      text.replace(at, 3, "\xff");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string format = argc > 1 ? argv[1] : "", visibility = argc > 2 ? argv[2] : "visible";
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  Json record = parse_json(text);
  put_bad_bytes(record);
  const Grading grading = format == "class" ? Grading() : grading_from(record);
  const std::map<std::string, std::function<std::string()>> reports{
      {"class", [&] { return class_html(record.get<Overview>()); }},
      {"table", [&] { return grade_table(grading, false, 0); }},
      {"json", [&] { return grade_json(grading, false); }},
      {"junit", [&] { return grade_junit(grading); }},
      {"html", [&] { return grade_html(grading); }},
      {"markdown", [&] { return grade_markdown(grading); }},
      {"annotations", [&] { return grade_annotations(grading); }},
      {"gradescope", [&] { return grade_gradescope(grading, visibility); }}};
  const std::string report = reports.at(format)();
  std::fwrite(report.data(), 1, report.size(), stdout);
}
