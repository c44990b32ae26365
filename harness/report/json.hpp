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

// What nlohmann::ordered_json converts by: `Json(result)`, `object.at("result").get_to(result)`.
// from_json() throws nlohmann::json::exception or std::invalid_argument for another value.
void to_json(nlohmann::ordered_json& object, const Result& result);
void from_json(const nlohmann::ordered_json& object, Result& result);
void to_json(nlohmann::ordered_json& value, Status status);  // its name
void from_json(const nlohmann::ordered_json& value, Status& status);

/// Defines the same two for a struct: an object of its members, in this order. nlohmann's macro
/// (3.11) serves only nlohmann::json, which sorts them.
#define PRENORM_JSON(Type, ...)                                                                 \
  inline void to_json(nlohmann::ordered_json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))                    \
  }                                                                                             \
  inline void from_json(const nlohmann::ordered_json& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))                  \
  }

PRENORM_JSON(Summary, passed, failed, skipped)

/// The report as text: indented, valid UTF-8, with a newline at its end.
std::string to_text(const nlohmann::ordered_json& object);

}  // namespace prenorm::harness
