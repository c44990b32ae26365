#include "grade/grading_record.hpp"
#include "report/json.hpp"

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

PRENORM_JSON(GradedItem, name, problems, points, earned, groups, cases, diagnoses, undiagnosed,
             by_heart)
PRENORM_JSON(Grading, submission, kind, rubric, title, sandbox, notes, imports, seed, status,
             message, items, seconds)

std::string grading_record(const Grading& grading) { return to_line(grading); }

Grading grading_of(const std::string& text) try {
  return parse_json(text).get<Grading>();
} catch (const Json::exception& error) {
  throw std::invalid_argument(std::string("no record of a grading: ") + error.what());
}

}  // namespace prenorm::harness
