// The parts of which reports in JSON are made.
#pragma once

#include "verdict.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace prenorm::harness {

/// "version", "command" and "environment": how every report begins.
nlohmann::ordered_json report_head(const std::string& command);

/// One result; numbers that are not finite are the strings "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json to_object(const Result& result);

nlohmann::ordered_json to_object(const Summary& summary);

/// The report as text: indented, valid UTF-8, with a newline at its end.
std::string to_text(const nlohmann::ordered_json& object);

}  // namespace prenorm::harness
