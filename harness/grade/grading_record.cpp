#include "grade/grading_record.hpp"
#include "report/json.hpp"

#include <utility>

namespace prenorm::harness {

// In JSON there are no infinite numbers, of which a map has some.
void to_json(Json& record, const ErrorMap& map) {
  Json cells = Json::array();
  for (const double cell : map.cells) cells.push_back(number(cell));
  record = {{"tensor", map.tensor},   {"shape", map.shape},        {"rows", map.rows},
            {"columns", map.columns}, {"cells", std::move(cells)}, {"histogram", map.histogram}};
}

void from_json(const Json& record, ErrorMap& map) {
  record.at("tensor").get_to(map.tensor);
  record.at("shape").get_to(map.shape);
  record.at("rows").get_to(map.rows);
  record.at("columns").get_to(map.columns);
  for (const Json& cell : record.at("cells")) map.cells.push_back(number_of(cell));
  record.at("histogram").get_to(map.histogram);
}

void to_json(Json& record, const Diagnosis& diagnosis) {
  record = Json::array({diagnosis.problem, diagnosis.mistake, diagnosis.agrees, diagnosis.of});
}

void from_json(const Json& record, Diagnosis& diagnosis) {
  diagnosis = {record.at(0), record.at(1), record.at(2), record.at(3)};
}

void to_json(Json& record, const GradedGroup& group) {
  record = {{"name", group.name},
            {"hidden", group.hidden},
            {"share", group.share},
            {"passed", group.passed},
            {"total", group.total},
            {"hidden_passed", group.hidden_passed},
            {"hidden_total", group.hidden_total},
            {"earned", group.earned}};
}

void from_json(const Json& record, GradedGroup& group) {
  record.at("name").get_to(group.name);
  record.at("hidden").get_to(group.hidden);
  record.at("share").get_to(group.share);
  record.at("passed").get_to(group.passed);
  record.at("total").get_to(group.total);
  record.at("earned").get_to(group.earned);
  if (record.contains("hidden_total")) {
    record.at("hidden_passed").get_to(group.hidden_passed);
    record.at("hidden_total").get_to(group.hidden_total);
  } else if (group.hidden) {  // of the first rules: a group of hidden cases alone
    group.hidden_passed = std::exchange(group.passed, 0);
    group.hidden_total = std::exchange(group.total, 0);
  }
}

void to_json(Json& record, const GradedCase& graded) {
  record = {{"result", graded.result}, {"hidden", graded.hidden}, {"groups", graded.groups},
            {"shapes", graded.shapes}, {"errors", graded.errors}, {"secret", nullptr}};
  if (graded.secret) record["secret"] = *graded.secret;
}

void from_json(const Json& record, GradedCase& graded) {
  record.at("result").get_to(graded.result);
  record.at("hidden").get_to(graded.hidden);
  record.at("groups").get_to(graded.groups);
  record.at("shapes").get_to(graded.shapes);
  record.at("errors").get_to(graded.errors);
  const Json& secret = record.at("secret");
  if (!secret.is_null()) graded.secret = secret.get<GradedCase::Secret>();
}

PRENORM_JSON(GradedItem, name, problems, points, earned, groups, cases, diagnoses, undiagnosed)
PRENORM_JSON(Grading, submission, kind, rubric, title, sandbox, notes, imports, seed, status,
             message, items, seconds)

std::string grading_record(const Grading& grading) { return to_line(grading); }

Grading grading_of(const std::string& text) try {
  return parse_json(text).get<Grading>();
} catch (const Json::exception& error) {
  throw std::invalid_argument(std::string("no record of a grading: ") + error.what());
}

}  // namespace prenorm::harness
