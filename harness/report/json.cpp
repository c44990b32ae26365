// Results and reports as JSON, and the facts that every report begins with.
#include "report/report.hpp"

#include <fstream>
#include <sys/utsname.h>
#include <thread>

namespace prenorm::harness {

PRENORM_JSON(OutputReport, name, max_abs_error, max_rel_error, max_ulp_error, relative_l2_error,
             mismatches, elements, worst_index, worst_actual, worst_expected, atol, rtol, rms, bias,
             rms_allowed, bias_allowed)

namespace {

/// Nothing for a text that is empty.
Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

Json to_object(const OutputReport& output) {
  Json object = output;
  // Nothing was compared where neither an error nor a worst element is known.
  const bool compared =
      output.max_abs_error || output.worst_expected || output.worst_actual || output.mismatches > 0;
  if (!compared) object["mismatches"] = object["worst_index"] = nullptr;
  return object;
}

/// The text, or an empty one for null.
std::string text_of(const Json& value) {
  return value.is_null() ? std::string() : value.get<std::string>();
}

OutputReport output_of(Json object) {
  if (object.at("mismatches").is_null()) object["mismatches"] = 0;
  if (object.at("worst_index").is_null()) object["worst_index"] = Json::array();
  // What was recorded before elements were judged together lacks these.
  for (const char* name : {"rms", "bias", "rms_allowed", "bias_allowed"})
    object.emplace(name, nullptr);
  return object.get<OutputReport>();
}

/// The processor's name by /proc/cpuinfo, or nothing.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

std::string_view program_version() { return PRENORM_VERSION; }

Json describe_environment() {
  Json facts{{"program", "prenorm " + std::string(program_version())}};
  utsname system{};
  if (uname(&system) == 0) {
    facts["system"] = std::string(system.sysname) + " " + system.release;
    facts["machine"] = system.machine;
  }
  if (std::string name = processor(); !name.empty()) facts["processor"] = name;
  facts["cores"] = std::to_string(std::thread::hardware_concurrency());
#if defined(__clang__)
  facts["built with"] = "clang++ " __clang_version__;
#else
  facts["built with"] = "g++ " __VERSION__;
#endif
  return facts;
}

std::string environment_text() {
  std::string text;
  const Json facts = describe_environment();
  for (const auto& [what, value] : facts.items()) {
    text += (text.empty() ? "" : ", ") + what + " " + value.get<std::string>();
  }
  return text;
}

void to_json(Json& value, Status status) { value = name(status); }

void from_json(const Json& value, Status& status) { status = status_of(value.get<std::string>()); }

void to_json(Json& object, const Result& result) {
  object = {{"fixture", result.fixture},
            {"problem", text(result.problem)},
            {"case", member_json(result.case_name)},
            {"solution", text(result.solution)},
            {"status", result.status},
            {"message", result.message},
            {"dtype", text(result.dtype)},
            {"seconds", number(result.seconds)},
            {"repeat", text(result.repeat)},
            {"outputs", array_of(result.outputs, to_object)},
            {"batch_invariant", member_json(result.batch_invariant)}};
  if (!result.printed.empty()) object["printed"] = result.printed;
}

void from_json(const Json& object, Result& result) {
  object.at("fixture").get_to(result.fixture);
  result.problem = text_of(object.at("problem"));
  take_member(object.at("case"), result.case_name);
  result.solution = text_of(object.at("solution"));
  object.at("status").get_to(result.status);
  object.at("message").get_to(result.message);
  result.dtype = text_of(object.at("dtype"));
  result.seconds = number_of(object.at("seconds"));
  result.repeat = text_of(object.at("repeat"));
  for (const Json& output : object.at("outputs")) result.outputs.push_back(output_of(output));
  take_member(object.at("batch_invariant"), result.batch_invariant);
  if (object.contains("printed")) object.at("printed").get_to(result.printed);
}

Json report_head(const std::string& command) {
  return {{"version", 1}, {"command", command}, {"environment", describe_environment()}};
}

std::string to_json(const Report& report) {
  Json object = report_head(report.command);
  object["results"] = report.results;
  object["summary"] = summarize(report.results);
  return to_text(object);
}

}  // namespace prenorm::harness
