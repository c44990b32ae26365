#include "fixture_object.hpp"

#include "printable.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace prenorm::harness {
namespace {

/// Why the text is refused; nullptr where it is fine.
const char* text_fault(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.bytes == 0) return "is not valid UTF-8";
    const bool control = character.code < 0x20 || character.code == 0x7f;
    if (control && character.code != '\t' && character.code != '\n') {
      return "holds a control character";
    }
    text.remove_prefix(character.bytes);
  }
  return nullptr;
}

/// What an attribute holds, for a message.
std::string describe(const Attribute& attribute) {
  switch (attribute.value.index()) {
    case 0: return std::get<Unusable>(attribute.value).what;
    case 1: return "the integer " + std::to_string(std::get<std::int64_t>(attribute.value));
    case 2: return "the number " + number_text(std::get<double>(attribute.value));
    case 3: return "a bool";
    default: break;
  }
  const auto& texts = std::get<std::vector<std::string>>(attribute.value);
  return texts.size() == 1 ? "the text '" + texts[0] + "'"
                           : "a list of " + std::to_string(texts.size()) + " texts";
}

std::optional<std::int64_t> to_integer(const Attribute& attribute) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) return *integer;
  const auto* number = std::get_if<double>(&attribute.value);
  if (number == nullptr || std::trunc(*number) != *number) return std::nullopt;
  if (*number < -0x1p63 || *number >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<double> to_float(const Attribute& attribute) {
  if (const auto* number = std::get_if<double>(&attribute.value)) return *number;
  const auto* integer = std::get_if<std::int64_t>(&attribute.value);
  if (integer == nullptr) return std::nullopt;
  const auto number = static_cast<double>(*integer);
  const bool exact = number < 0x1p63 && static_cast<std::int64_t>(number) == *integer;
  return exact ? std::optional(number) : std::nullopt;
}

std::optional<bool> to_bool(const Attribute& attribute) {
  if (const auto* boolean = std::get_if<bool>(&attribute.value)) return *boolean;
  const std::optional<std::int64_t> integer = to_integer(attribute);
  if (!integer || *integer < 0 || *integer > 1) return std::nullopt;
  return *integer == 1;
}

}  // namespace

ObjectError::ObjectError(const std::string& object, const std::string& why)
    : std::runtime_error(printable(object) + ": " + printable(why, 2000)) {}

std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, error == std::errc() ? end : text};
}

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text.empty() ? "nothing" : text;
}

const Attribute& Object::attribute(const std::string& name) const {
  const Attribute* found = node_.attribute(name);
  if (found != nullptr) return *found;
  std::vector<std::string> names;
  for (const Attribute& other : node_.attributes) names.push_back(other.name);
  fail_attribute(name, "is missing; there is " + list_text(names));
}

std::string Object::text(const std::string& name) const {
  const Attribute& found = attribute(name);
  const auto* texts = std::get_if<std::vector<std::string>>(&found.value);
  if (texts == nullptr || texts->size() != 1) {
    fail_attribute(name, "is " + describe(found) + ", wanted a text");
  }
  if (const char* fault = text_fault(texts->front())) fail_attribute(name, fault);
  return texts->front();
}

std::vector<std::string> Object::words(const std::string& name) const {
  const Attribute& found = attribute(name);
  const auto* texts = std::get_if<std::vector<std::string>>(&found.value);
  if (texts == nullptr) fail_attribute(name, "is " + describe(found) + ", wanted names");
  std::vector<std::string> words;
  for (const std::string& text : *texts) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find_first_of(", \t\n", begin), text.size());
      if (end > begin) words.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return words;
}

Scalar Object::scalar(const std::string& name, ScalarKind kind) const {
  const Attribute& found = attribute(name);
  const auto wanted = [&](const char* what) {
    fail_attribute(name, "is " + describe(found) + ", wanted " + what);
  };
  switch (kind) {
    case ScalarKind::integer:
      if (const auto integer = to_integer(found)) return *integer;
      wanted("an int");
      break;
    case ScalarKind::floating:
      if (const auto number = to_float(found)) return *number;
      wanted("a float");
      break;
    case ScalarKind::boolean:
      if (const auto boolean = to_bool(found)) return *boolean;
      wanted("a bool");
      break;
  }
  throw std::logic_error("an unknown kind of scalar");
}

Object Object::child(const Node& node) const {
  return {node, (path_ == "/" ? "" : path_) + "/" + node.name};
}

Object Object::member(const std::string& name, bool group) const {
  const Node* found = node_.child(name);
  const char* const wanted = group ? "group" : "dataset";
  if (found == nullptr) fail(std::string("the ") + wanted + " " + name + " is missing");
  Object object = child(*found);
  if (found->is_group != group) {
    object.fail(std::string("is a ") + (group ? "dataset" : "group") + ", wanted a " + wanted);
  }
  return object;
}

void Object::allow_members(const std::vector<std::string>& names) const {
  for (const Node& node : node_.children) {
    if (std::ranges::find(names, node.name) == names.end()) {
      child(node).fail(std::string("is an unknown ") + (node.is_group ? "group" : "dataset") +
                       "; here may be " + list_text(names));
    }
  }
}

void Object::allow_attributes(const std::vector<std::string>& names) const {
  for (const Attribute& attribute : node_.attributes) {
    if (std::ranges::find(names, attribute.name) == names.end()) {
      fail_attribute(attribute.name, "is unknown; here may be " + list_text(names));
    }
  }
}

}  // namespace prenorm::harness
