#include "report/json.hpp"

#include "report/report.hpp"

#include <cmath>

namespace prenorm::harness {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no numbers that are not finite: they are strings.
Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

/// Nothing for a text that is empty.
Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

Json to_object(const OutputReport& output) {
  // Nothing was compared where neither an error nor a worst element is known.
  const bool compared =
      output.max_abs_error || output.worst_expected || output.worst_actual || output.mismatches > 0;
  const auto if_compared = [compared](Json value) { return compared ? value : Json(nullptr); };
  return {{"name", output.name},
          {"max_abs_error", number(output.max_abs_error)},
          {"max_rel_error", number(output.max_rel_error)},
          {"max_ulp_error", number(output.max_ulp_error)},
          {"relative_l2_error", number(output.relative_l2_error)},
          {"mismatches", if_compared(output.mismatches)},
          {"elements", output.elements},
          {"worst_index", if_compared(output.worst_index)},
          {"worst_actual", number(output.worst_actual)},
          {"worst_expected", number(output.worst_expected)},
          {"atol", number(output.atol)},
          {"rtol", number(output.rtol)}};
}

}  // namespace

Json to_object(const Result& result) {
  Json outputs = Json::array();
  for (const OutputReport& output : result.outputs) outputs.push_back(to_object(output));
  Json object{{"fixture", result.fixture},
              {"problem", text(result.problem)},
              {"case", result.case_name ? Json(*result.case_name) : Json(nullptr)},
              {"solution", text(result.solution)},
              {"status", name(result.status)},
              {"message", result.message},
              {"dtype", text(result.dtype)},
              {"seconds", number(result.seconds)},
              {"repeat", text(result.repeat)},
              {"outputs", std::move(outputs)},
              {"batch_invariant", nullptr}};
  if (result.batch_invariant) object["batch_invariant"] = *result.batch_invariant;
  return object;
}

Json report_head(const std::string& command) {
  Json environment = Json::object();
  for (const auto& [what, value] : describe_environment()) environment[what] = value;
  return {{"version", 1}, {"command", command}, {"environment", std::move(environment)}};
}

Json to_object(const Summary& summary) {
  return {{"passed", summary.passed}, {"failed", summary.failed}, {"skipped", summary.skipped}};
}

std::string to_text(const Json& object) {
  // Bytes of a message that are no UTF-8 become U+FFFD, so that the report is always valid.
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json(const Report& report) {
  Json object = report_head(report.command);
  Json& results = object["results"] = Json::array();
  for (const Result& result : report.results) results.push_back(to_object(result));
  object["summary"] = to_object(summarize(report.results));
  return to_text(object);
}

}  // namespace prenorm::harness
