// JSON: what reports, records and messages are written in.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// Objects keep the order in which their members were added.
using Json = nlohmann::ordered_json;

/// Throws Json::exception for a text that is no JSON. (Here, for the parser takes seconds to
/// compile.)
Json parse_json(std::string_view text);
/// Indented, with a newline at its end. Bytes that are no UTF-8 become U+FFFD.
std::string to_text(const Json& object);
/// The same without line breaks.
std::string to_line(const Json& object);

/// A number; what is not finite is the string "NaN", "Infinity" or "-Infinity".
Json number(double value);
/// The same back. Throws Json::exception for anything else.
double number_of(const Json& value);

/// Defines what Json converts a struct by, `Json(value)` and `object.get_to(value)`: an object of
/// its members, in this order. nlohmann's macro (3.11) serves only nlohmann::json, which sorts
/// them.
#define PRENORM_JSON(Type, ...)                                                \
  inline void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {    \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))   \
  }                                                                            \
  inline void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) {  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__)) \
  }

}  // namespace prenorm::harness
