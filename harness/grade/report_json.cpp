// The reports for other programs: JSON and JUnit's XML.
#include "explain/causes.hpp"
#include "grade/grading_record.hpp"
#include "grade/report_parts.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <map>

namespace prenorm::harness {
namespace {

Json diagnosis_object(const Diagnosis& diagnosis) {
  const MistakeWords& words = words_of(diagnosis.problem, diagnosis.mistake);
  return {{"problem", diagnosis.problem}, {"mistake", diagnosis.mistake},
          {"name", words.name},           {"right", words.right},
          {"wrong", words.wrong},         {"agrees", diagnosis.agrees},
          {"of", diagnosis.of},           {"also", diagnosis.also}};
}

Json clue_object(const Clue& clue) {
  Json text = Json::array();
  for (const std::string* each : {&clue.heading, &clue.sentence, &clue.example}) {
    if (!each->empty()) text.push_back(*each);
  }
  return {{"problem", clue.problem}, {"law", clue.law}, {"terms", clue.terms}, {"text", text}};
}

Json property_object(const Property& property) {
  return {{"problem", property.problem},
          {"property", property.sentence},
          {"holds", property.holds},
          {"of", property.of}};
}

}  // namespace

Json case_object(const GradedItem& item, const GradedCase& graded, bool secret) {
  const bool told = !graded.hidden || secret;
  Json object = secret && graded.secret ? graded.secret->result : graded.result;
  if (!told) object["seconds"] = nullptr;
  object["item"] = item.name;
  object["groups"] = graded.groups;
  object["hidden"] = graded.hidden;
  object["shapes"] = nullptr;
  if (!graded.hidden) object["shapes"] = graded.told.sizes;
  if (!graded.hidden) object["elements"] = graded.told.elements;
  if (secret && graded.secret) {
    object["shapes"] = graded.secret->shapes;
    object["drawn_from"] = graded.secret->from;
  }
  return object;
}

Json item_object(const GradedItem& item) {
  return {{"name", item.name},
          {"problems", item.problems},
          {"points", item.points},
          {"earned", item.earned},
          {"groups", item.groups},
          {"diagnoses", array_of(item.diagnoses, diagnosis_object)},
          {"clues", array_of(item.clues, clue_object)},
          {"properties", array_of(item.properties, property_object)},
          {"undiagnosed", item.undiagnosed}};
}

std::string grade_json(const Grading& grading, bool secret) {
  Json object = report_head("grade");
  object["submission"] = grading.submission;
  object["kind"] = grading.kind_text();
  object["emulated"] = grading.emulated;
  object["rubric"] = grading.rubric;
  object["title"] = grading.title;
  object["sandbox"] = grading.sandbox;
  object["status"] = name(grading.status);
  object["message"] = grading.message;
  object["notes"] = grading.notes;
  object["imports"] = grading.imports;
  if (secret) object["seed"] = grading.seed;
  object["points"] = grading.points();
  object["earned"] = grading.earned();
  object["gradeable"] = grading.gradeable();
  object["not_asked"] = grading.not_asked;
  object["seconds"] = grading.seconds;
  Json results = Json::array();
  for (const GradedItem& item : grading.items) {
    for (const GradedCase& graded : item.cases) {
      results.push_back(case_object(item, graded, secret));
    }
  }
  object["profiles"] = profiles_object(grading.profiles);
  object["items"] = array_of(grading.items, item_object);
  object["results"] = std::move(results);
  object["summary"] = summarize(grading.results(secret), true);
  return to_text(object);
}

std::string grade_junit(const Grading& grading) {
  std::vector<JunitSuite> suites;
  for (const GradedItem& item : grading.items) {
    JunitSuite& suite = suites.emplace_back(item.name, std::vector<JunitCase>{});
    std::map<std::string, std::size_t> hidden;  // by problem
    for (const GradedCase& graded : item.cases) {
      const Result& result = graded.result;
      JunitCase& test = suite.cases.emplace_back();
      test.status = result.status;
      if (graded.hidden) {  // nothing else of it: a time, too, would tell of its shapes
        test.group = result.problem;
        test.name = "hidden_" + std::to_string(++hidden[result.problem]);
        continue;
      }
      test.group = result.problem;
      test.name = result.case_name.value_or(result.fixture);
      test.message = result.message;
      if (!result.repeat.empty()) test.details = "repeat: " + result.repeat;
      test.seconds = result.seconds;
    }
  }
  // What cannot be run at all has no cases to say so.
  const bool told = std::ranges::any_of(suites, [](const auto& s) { return !s.cases.empty(); });
  if (grading.status != Status::passed && !told) {
    suites.push_back({"submission",
                      {{.group = "submission",
                        .name = grading.submission,
                        .status = grading.status,
                        .message = grading.message,
                        .details = {},
                        .seconds = {}}}});
  }
  if (grading.not_asked > 0) {
    suites.push_back({"submission",
                      {{.group = "submission",
                        .name = grading.submission,
                        .status = Status::skipped,
                        .message = grading.not_whole(),
                        .details = {},
                        .seconds = {}}}});
  }
  return junit_document("prenorm grade " + grading.submission, suites, true);
}

}  // namespace prenorm::harness
