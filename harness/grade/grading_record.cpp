#include "grade/grading_record.hpp"

#include "report/json.hpp"

namespace prenorm::harness {
namespace {

using Json = nlohmann::ordered_json;

Json map_record(const ErrorMap& map) {
  Json cells = Json::array();
  for (const double cell : map.cells) cells.push_back(number(cell));
  return {{"tensor", map.tensor},   {"shape", map.shape},        {"rows", map.rows},
          {"columns", map.columns}, {"cells", std::move(cells)}, {"histogram", map.histogram}};
}

ErrorMap map_of(const Json& record) {
  ErrorMap map;
  record.at("tensor").get_to(map.tensor);
  record.at("shape").get_to(map.shape);
  record.at("rows").get_to(map.rows);
  record.at("columns").get_to(map.columns);
  for (const Json& cell : record.at("cells")) map.cells.push_back(number_of(cell));
  record.at("histogram").get_to(map.histogram);
  return map;
}

Json item_record(const GradedItem& item) {
  Json groups = Json::array(), cases = Json::array(), diagnoses = Json::array();
  for (const GradedGroup& group : item.groups) groups.push_back(group_record(group));
  for (const GradedCase& graded : item.cases) cases.push_back(case_record(graded));
  for (const Diagnosis& diagnosis : item.diagnoses) {
    diagnoses.push_back(
        Json::array({diagnosis.problem, diagnosis.mistake, diagnosis.agrees, diagnosis.of}));
  }
  return {{"name", item.name},
          {"problems", item.problems},
          {"points", item.points},
          {"earned", item.earned},
          {"groups", std::move(groups)},
          {"cases", std::move(cases)},
          {"diagnoses", std::move(diagnoses)},
          {"undiagnosed", item.undiagnosed},
          {"by_heart", item.by_heart}};
}

GradedItem item_of(const Json& record) {
  GradedItem item;
  record.at("name").get_to(item.name);
  record.at("problems").get_to(item.problems);
  record.at("points").get_to(item.points);
  record.at("earned").get_to(item.earned);
  for (const Json& group : record.at("groups")) item.groups.push_back(group_of(group));
  for (const Json& each : record.at("cases")) item.cases.push_back(case_of(each));
  for (const Json& each : record.at("diagnoses")) {
    item.diagnoses.push_back({each.at(0), each.at(1), each.at(2), each.at(3)});
  }
  record.at("undiagnosed").get_to(item.undiagnosed);
  record.at("by_heart").get_to(item.by_heart);
  return item;
}

}  // namespace

Json case_record(const GradedCase& graded) {
  Json errors = Json::array();
  for (const ErrorMap& map : graded.errors) errors.push_back(map_record(map));
  Json record{{"result", to_object(graded.result)},
              {"hidden", graded.hidden},
              {"groups", graded.groups},
              {"shapes", graded.shapes},
              {"errors", std::move(errors)},
              {"secret", nullptr}};
  if (graded.secret) {
    record["secret"] = {{"result", to_object(graded.secret->result)},
                        {"from", graded.secret->from},
                        {"shapes", graded.secret->shapes}};
  }
  return record;
}

GradedCase case_of(const Json& record) {
  GradedCase graded;
  graded.result = result_of(record.at("result"));
  record.at("hidden").get_to(graded.hidden);
  record.at("groups").get_to(graded.groups);
  record.at("shapes").get_to(graded.shapes);
  for (const Json& map : record.at("errors")) graded.errors.push_back(map_of(map));
  if (const Json& secret = record.at("secret"); !secret.is_null()) {
    graded.secret = {result_of(secret.at("result")), secret.at("from"), secret.at("shapes")};
  }
  return graded;
}

Json group_record(const GradedGroup& group) {
  return {{"name", group.name},     {"hidden", group.hidden}, {"share", group.share},
          {"passed", group.passed}, {"total", group.total},   {"earned", group.earned}};
}

GradedGroup group_of(const Json& record) {
  return {record.at("name"),   record.at("hidden"), record.at("share"),
          record.at("passed"), record.at("total"),  record.at("earned")};
}

std::string grading_record(const Grading& grading) {
  Json items = Json::array();
  for (const GradedItem& item : grading.items) items.push_back(item_record(item));
  const Json record{{"submission", grading.submission}, {"kind", grading.kind},
                    {"rubric", grading.rubric},         {"title", grading.title},
                    {"sandbox", grading.sandbox},       {"notes", grading.notes},
                    {"imports", grading.imports},       {"seed", grading.seed},
                    {"status", name(grading.status)},   {"message", grading.message},
                    {"items", std::move(items)},        {"seconds", grading.seconds}};
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Grading grading_of(const std::string& text) try {
  const Json record = Json::parse(text);
  Grading grading;
  record.at("submission").get_to(grading.submission);
  record.at("kind").get_to(grading.kind);
  record.at("rubric").get_to(grading.rubric);
  record.at("title").get_to(grading.title);
  record.at("sandbox").get_to(grading.sandbox);
  record.at("notes").get_to(grading.notes);
  record.at("imports").get_to(grading.imports);
  record.at("seed").get_to(grading.seed);
  grading.status = status_of(record.at("status").get<std::string>());
  record.at("message").get_to(grading.message);
  for (const Json& item : record.at("items")) grading.items.push_back(item_of(item));
  record.at("seconds").get_to(grading.seconds);
  return grading;
} catch (const nlohmann::json::exception& error) {
  throw std::invalid_argument(std::string("no record of a grading: ") + error.what());
}

}  // namespace prenorm::harness
