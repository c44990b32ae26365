// The parts of which reports in JSON are made.
#pragma once

#include "fixture/verdict.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace prenorm::harness {

/// "version", "command" and "environment": how every report begins.
nlohmann::ordered_json report_head(const std::string& command);

/// A number; what is not finite is the string "NaN", "Infinity" or "-Infinity".
nlohmann::ordered_json number(double value);
/// The same back. Throws nlohmann::json::exception for anything else.
double number_of(const nlohmann::ordered_json& value);

/// One result, and the same back.
nlohmann::ordered_json to_object(const Result& result);
Result result_of(const nlohmann::ordered_json& object);

nlohmann::ordered_json to_object(const Summary& summary);

/// The report as text: indented, valid UTF-8, with a newline at its end.
std::string to_text(const nlohmann::ordered_json& object);

}  // namespace prenorm::harness
