#include "explain/causes.hpp"
#include "grade/grading_record.hpp"
#include "grade/report_json.hpp"
#include "report/report.hpp"

namespace prenorm::harness {
namespace {

Json to_object(const Diagnosis& diagnosis) {
  return {{"problem", diagnosis.problem},
          {"mistake", diagnosis.mistake},
          {"name", words_of(diagnosis.problem, diagnosis.mistake).name},
          {"agrees", diagnosis.agrees},
          {"of", diagnosis.of},
          {"also", diagnosis.also}};
}

Json to_object(const Property& property) {
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
  if (secret && graded.secret) {
    object["shapes"] = graded.secret->shapes;
    object["drawn_from"] = graded.secret->from;
  }
  return object;
}

Json item_object(const GradedItem& item) {
  Json diagnoses = Json::array(), properties = Json::array();
  for (const Diagnosis& diagnosis : item.diagnoses) diagnoses.push_back(to_object(diagnosis));
  for (const Property& property : item.properties) properties.push_back(to_object(property));
  return {{"name", item.name},
          {"problems", item.problems},
          {"points", item.points},
          {"earned", item.earned},
          {"groups", item.groups},
          {"diagnoses", std::move(diagnoses)},
          {"properties", std::move(properties)},
          {"undiagnosed", item.undiagnosed}};
}

std::string grade_json(const Grading& grading, bool secret) {
  Json object = report_head("grade");
  object["submission"] = grading.submission;
  object["kind"] = grading.kind;
  object["emulated"] = grading.is_emulated();
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
  object["seconds"] = grading.seconds;
  Json items = Json::array(), results = Json::array();
  for (const GradedItem& item : grading.items) {
    items.push_back(item_object(item));
    for (const GradedCase& graded : item.cases) {
      results.push_back(case_object(item, graded, secret));
    }
  }
  object["profiles"] = profiles_object(grading.profiles);
  object["items"] = std::move(items);
  object["results"] = std::move(results);
  object["summary"] = summarize(grading.results(secret), true);
  return to_text(object);
}

}  // namespace prenorm::harness
