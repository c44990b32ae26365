// JSON: what reports, records and messages are written in.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// An array of what `make` makes of each of them.
template <class Range, class Make>
Json array_of(const Range& range, Make make) {
  Json all = Json::array();
  for (const auto& each : range) all.push_back(make(each));
  return all;
}

/// A number; what is not finite is the string "NaN", "Infinity" or "-Infinity".
Json number(double value);
/// The same back. Throws Json::exception for anything else.
double number_of(const Json& value);

/// A member of an object: as Json converts it, but for numbers, and null for nothing.
template <class T>
Json member_json(const T& value) {
  return value;
}
inline Json member_json(double value) { return number(value); }
inline Json member_json(const std::vector<double>& values) { return array_of(values, number); }
template <class T>
Json member_json(const std::optional<T>& value) {
  return value ? member_json(*value) : Json();
}
/// The same back. Throws Json::exception.
template <class T>
void take_member(const Json& json, T& value) {
  json.get_to(value);
}
inline void take_member(const Json& json, double& value) { value = number_of(json); }
inline void take_member(const Json& json, std::vector<double>& values) {
  values.clear();
  for (const Json& each : json) values.push_back(number_of(each));
}
template <class T>
void take_member(const Json& json, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) take_member(json, value.emplace());
}

#define PRENORM_JSON_TO(member) nlohmann_json_j[#member] = member_json(nlohmann_json_t.member);
#define PRENORM_JSON_FROM(member) take_member(nlohmann_json_j.at(#member), nlohmann_json_t.member);
#define PRENORM_JSON_TO_RARE(member) \
  if (nlohmann_json_t.member != nlohmann_json_usual.member) PRENORM_JSON_TO(member)
#define PRENORM_JSON_FROM_RARE(member) \
  if (nlohmann_json_j.contains(#member)) PRENORM_JSON_FROM(member)
#define PRENORM_JSON_LIST(...) __VA_ARGS__

/// Defines what Json converts a struct by, `Json(value)` and `object.get_to(value)`: an object of
/// its members, in this order. nlohmann's macro (3.11) serves only nlohmann::json, which sorts
/// them.
#define PRENORM_JSON(Type, ...)                                               \
  inline void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(PRENORM_JSON_TO, __VA_ARGS__))   \
  }                                                                           \
  inline void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(PRENORM_JSON_FROM, __VA_ARGS__)) \
  }

/// The same where further members, the last ones, are left out while they have their usual value.
#define PRENORM_JSON_WITH_RARE(Type, members, ...)                            \
  inline void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    const Type nlohmann_json_usual{};                                         \
    NLOHMANN_JSON_PASTE(PRENORM_JSON_TO, PRENORM_JSON_LIST members)           \
    NLOHMANN_JSON_PASTE(PRENORM_JSON_TO_RARE, __VA_ARGS__)                    \
  }                                                                           \
  inline void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_PASTE(PRENORM_JSON_FROM, PRENORM_JSON_LIST members)         \
    NLOHMANN_JSON_PASTE(PRENORM_JSON_FROM_RARE, __VA_ARGS__)                  \
  }

}  // namespace prenorm::harness
