#include "grade/grading_record.hpp"
#include "report/report.hpp"

namespace prenorm::harness {

void to_json(Json& record, const ErrorMap::Axis& axis) {
  record = Json::array({axis.name, axis.extent, member_json(axis.ratios)});
}

void from_json(const Json& record, ErrorMap::Axis& axis) {
  axis = {record.at(0), record.at(1), {}};
  take_member(record.at(2), axis.ratios);
}

PRENORM_JSON(ErrorMap, tensor, shape, rows, columns, cells, histogram, ulps, axes, mistake)

void to_json(Json& record, const Diagnosis& diagnosis) {
  record = Json::array(
      {diagnosis.problem, diagnosis.mistake, diagnosis.agrees, diagnosis.of, diagnosis.also});
}

void from_json(const Json& record, Diagnosis& diagnosis) {
  diagnosis = {record.at(0), record.at(1), record.at(2), record.at(3), record.at(4)};
}

PRENORM_JSON(Clue, problem, law, terms, heading, sentence, example)

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
  if (!told.alone.empty()) record["alone"] = told.alone;
  if (!told.not_repeated.empty()) record["not_repeated"] = told.not_repeated;
  if (told.cause != Causes::none) record["cause"] = told.cause;
}

void from_json(const Json& record, FailureText& told) {
  record.at("sizes").get_to(told.sizes);
  record.at("description").get_to(told.description);
  record.at("numbers").get_to(told.numbers);
  record.at("hint").get_to(told.hint);
  record.at("elements").get_to(told.elements);
  record.at("snippet").get_to(told.snippet);
  record.at("refusal").get_to(told.refusal);
  told.late = record.value("late", false);
  told.alone = record.value("alone", "");
  told.not_repeated = record.value("not_repeated", "");
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
  if (!group.lost_by.empty()) record["lost_by"] = group.lost_by;
}

void from_json(const Json& record, GradedGroup& group) {
  record.at("name").get_to(group.name);
  record.at("hidden").get_to(group.hidden);
  record.at("share").get_to(group.share);
  record.at("passed").get_to(group.passed);
  record.at("total").get_to(group.total);
  record.at("hidden_passed").get_to(group.hidden_passed);
  record.at("hidden_total").get_to(group.hidden_total);
  record.at("earned").get_to(group.earned);
  group.lost_by = record.value("lost_by", "");
}

void to_json(Json& record, const GradedCase& graded) {
  record = {{"result", graded.result},      {"hidden", graded.hidden},
            {"groups", graded.groups},      {"told", graded.told},
            {"errors", graded.told.errors}, {"secret", member_json(graded.secret)}};
}

void from_json(const Json& record, GradedCase& graded) {
  record.at("result").get_to(graded.result);
  record.at("hidden").get_to(graded.hidden);
  record.at("groups").get_to(graded.groups);
  record.at("told").get_to(graded.told);
  record.at("errors").get_to(graded.told.errors);
  take_member(record.at("secret"), graded.secret);
}

PRENORM_JSON(GradedItem, name, problems, points, earned, groups, cases, diagnoses, properties,
             undiagnosed, clues)
PRENORM_JSON(Grading, submission, kind, emulated, rubric, title, sandbox, notes, forbidden_calls,
             imports, seed, status, message, items, profiles, seconds)

std::string grading_record(const Grading& grading) { return to_line(grading); }

Grading grading_from(const Json& record) { return record.get<Grading>(); }

Grading grading_of(const std::string& text) try {
  return grading_from(parse_json(text));
} catch (const Json::exception& error) {
  throw std::invalid_argument(std::string("no record of a grading: ") + error.what());
}

}  // namespace prenorm::harness
