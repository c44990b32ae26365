#include "report/svg.hpp"

#include "report/page.hpp"

#include <fmt/format.h>

namespace prenorm::harness {
namespace {

std::string safe(std::string_view text) { return escaped(text, std::string_view::npos); }

/// "<path d="..."", without its end.
std::string start_of(std::string_view element, Svg::Attributes attributes) {
  std::string text = fmt::format("<{}", element);
  for (const Svg::Attribute& each : attributes) {
    text += fmt::format(" {}=\"{}\"", each.name, each.value);
  }
  return text;
}

}  // namespace

Svg::Attribute::Attribute(std::string_view name, std::string_view value)
    : name(name), value(safe(value)) {}

Svg::Attribute::Attribute(std::string_view name, double value)
    : name(name), value(fmt::format("{:g}", value)) {}

void Svg::add(std::string_view element, Attributes attributes, std::string_view text) {
  text_ += start_of(element, attributes);
  text_ += text.empty() ? "/>" : fmt::format(">{}</{}>", safe(text), element);
}

void Svg::open(std::string_view element, Attributes attributes) {
  text_ += start_of(element, attributes) + ">";
  open_.emplace_back(element);
}

void Svg::close() {
  text_ += fmt::format("</{}>\n", open_.back());
  open_.pop_back();
}

void Svg::style(std::string_view css) { text_ += fmt::format("<style>\n{}</style>\n", css); }

void Svg::add(const Svg& other) { text_ += other.text_; }

void Svg::label(double x, double y, std::string_view text, Attributes more) {
  text_ += start_of("text", {{"x", x}, {"y", y}});
  text_ += start_of("", more).substr(1) + fmt::format(">{}</text>", safe(text));
}

std::string Svg::picture(double width, double height, Attributes attributes) const {
  return start_of("svg", attributes) +
         fmt::format(" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\">\n{2}</svg>\n",
                     width, height, text_);
}

}  // namespace prenorm::harness
