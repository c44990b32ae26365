#include "grade/grading_record.hpp"
#include "report/report.hpp"

#include <utility>

namespace prenorm::harness {

// In JSON there are no infinite numbers, of which a map has some.
Json numbers(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double value : values) all.push_back(number(value));
  return all;
}

std::vector<double> numbers_in(const Json& all) {
  std::vector<double> values;
  for (const Json& value : all) values.push_back(number_of(value));
  return values;
}

void to_json(Json& record, const ErrorMap::Axis& axis) {
  record = Json::array({axis.name, axis.extent, numbers(axis.ratios)});
}

void from_json(const Json& record, ErrorMap::Axis& axis) {
  axis = {record.at(0), record.at(1), numbers_in(record.at(2))};
}

void to_json(Json& record, const ErrorMap& map) {
  record = {{"tensor", map.tensor},
            {"shape", map.shape},
            {"rows", map.rows},
            {"columns", map.columns},
            {"cells", numbers(map.cells)},
            {"histogram", map.histogram},
            {"ulps", map.ulps},
            {"axes", map.axes},
            {"mistake", numbers(map.mistake)}};
}

void from_json(const Json& record, ErrorMap& map) {
  record.at("tensor").get_to(map.tensor);
  record.at("shape").get_to(map.shape);
  record.at("rows").get_to(map.rows);
  record.at("columns").get_to(map.columns);
  map.cells = numbers_in(record.at("cells"));
  record.at("histogram").get_to(map.histogram);
  if (!record.contains("ulps")) return;  // of an earlier program
  record.at("ulps").get_to(map.ulps);
  record.at("axes").get_to(map.axes);
  map.mistake = numbers_in(record.at("mistake"));
}

void to_json(Json& record, const Diagnosis& diagnosis) {
  record = Json::array(
      {diagnosis.problem, diagnosis.mistake, diagnosis.agrees, diagnosis.of, diagnosis.also});
}

void from_json(const Json& record, Diagnosis& diagnosis) {
  diagnosis = {record.at(0), record.at(1), record.at(2), record.at(3), {}};
  if (record.size() > 4) record.at(4).get_to(diagnosis.also);
}

void to_json(Json& record, const Property& property) {
  record = Json::array({property.problem, property.sentence, property.holds, property.of});
}

void from_json(const Json& record, Property& property) {
  property = {record.at(0), record.at(1), record.at(2), record.at(3)};
}

void to_json(Json& record, const FailureText& told) {
  record = {{"sizes", told.sizes},     {"description", told.description},
            {"numbers", told.numbers}, {"hint", told.hint},
            {"snippet", told.snippet}, {"elements", told.elements},
            {"refusal", told.refusal}};
  if (told.late) record["late"] = true;
  if (told.cause != Causes::none) record["cause"] = told.cause;
}

void from_json(const Json& record, FailureText& told) {
  record.at("sizes").get_to(told.sizes);
  record.at("description").get_to(told.description);
  record.at("numbers").get_to(told.numbers);
  record.at("hint").get_to(told.hint);
  record.at("elements").get_to(told.elements);
  told.snippet = record.value("snippet", "");
  told.refusal = record.value("refusal", false);
  told.late = record.value("late", false);
  told.cause = record.value("cause", Causes::none);
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
  record = {{"result", graded.result}, {"hidden", graded.hidden},      {"groups", graded.groups},
            {"told", graded.told},     {"errors", graded.told.errors}, {"secret", nullptr}};
  if (graded.secret) record["secret"] = *graded.secret;
}

void from_json(const Json& record, GradedCase& graded) {
  record.at("result").get_to(graded.result);
  record.at("hidden").get_to(graded.hidden);
  record.at("groups").get_to(graded.groups);
  std::vector<ErrorMap> errors;
  record.at("errors").get_to(errors);
  if (record.contains("told")) {
    record.at("told").get_to(graded.told);
  } else {  // of an earlier program
    record.at("shapes").get_to(graded.told.sizes);
  }
  graded.told.errors = std::move(errors);
  const Json& secret = record.at("secret");
  if (!secret.is_null()) graded.secret = secret.get<GradedCase::Secret>();
}

PRENORM_JSON(GradedItem, name, problems, points, earned, groups, cases, diagnoses, properties,
             undiagnosed)
PRENORM_JSON(Grading, submission, kind, emulated, rubric, title, sandbox, notes, forbidden_calls,
             imports, seed, status, message, items, profiles, seconds)

std::string grading_record(const Grading& grading) { return to_line(grading); }

Grading grading_from(const Json& record) { return record.get<Grading>(); }

Grading grading_of(const std::string& text) try {
  Json record = parse_json(text);
  if (!record.contains("profiles")) record["profiles"] = Json::array();  // of an earlier program
  return grading_from(record);
} catch (const Json::exception& error) {
  throw std::invalid_argument(std::string("no record of a grading: ") + error.what());
}

}  // namespace prenorm::harness
