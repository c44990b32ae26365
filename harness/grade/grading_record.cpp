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

PRENORM_JSON_WITH_RARE(FailureText, (sizes, description, numbers, hint, snippet, elements, refusal),
                       late, alone, not_repeated, cause)

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
PRENORM_JSON_WITH_RARE(Grading,
                       (submission, kind, emulated, rubric, title, sandbox, notes, forbidden_calls,
                        imports, seed, status, message, items, profiles, seconds),
                       unreadable, not_asked, budget)

std::string grading_record(const Grading& grading) { return to_line(grading); }

Grading grading_from(const Json& record) { return record.get<Grading>(); }

Grading grading_of(const std::string& text) try {
  return grading_from(parse_json(text));
} catch (const Json::exception& error) {
  throw std::invalid_argument(std::string("no record of a grading: ") + error.what());
}

}  // namespace prenorm::harness
