#include "base/json.hpp"

#include <cmath>
#include <limits>

namespace prenorm::harness {

std::string to_text(const Json& object) {
  // Bytes of a message that are no UTF-8 become U+FFFD, so that the report is always valid.
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text) { return Json::parse(text); }

// JSON has no numbers that are not finite: they are strings.
Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double number_of(const Json& value) {
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return value.get<double>();
}

}  // namespace prenorm::harness
