#include "report/page.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <kainjow/mustache.hpp>
#include <map>
#include <stdexcept>

namespace prenorm::harness {

/// The templates by their files' names; the build writes the source.
extern const std::map<std::string_view, std::string_view> page_templates;

namespace {

namespace mustache = kainjow::mustache;

mustache::data data_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: {
      mustache::data made;
      for (const auto& [name, each] : value.items()) made.set(name, data_of(each));
      return made;
    }
    case Json::value_t::array: {
      mustache::data made(mustache::data::type::list);
      for (const Json& each : value) made.push_back(data_of(each));
      return made;
    }
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return text.empty() ? mustache::data(false) : mustache::data(text);
    }
    case Json::value_t::null: return mustache::data(false);
    case Json::value_t::boolean: return mustache::data(value.get<bool>());
    default: return mustache::data(value.dump());
  }
}

/// What may begin or end something: emphasis, code, links and addresses, HTML and entities, cells,
/// headings and lists, mentions, formulas.
constexpr std::string_view special = "\\`*_{}[]<>#+-.!|&~:@$";

/// Of backticks, at least `least` and more than stand together anywhere in the text.
std::string fence(std::string_view text, std::size_t least) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max(least, longest + 1), '`');
}

}  // namespace

std::string escaped(std::string_view text, std::size_t limit) {
  std::string safe;
  for (const char c : printable(text, limit)) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string_view css_class(Tone tone) {
  switch (tone) {
    case Tone::good: return "good";
    case Tone::bad: return "bad";
    case Tone::quiet: return "quiet";
    default: return "";
  }
}

std::string render_page(std::string_view name, const Json& values) {
  mustache::data data = data_of(values);
  for (const auto& [file, text] : page_templates) {
    data.set(std::string(file), mustache::partial([text = text] { return std::string(text); }));
  }
  mustache::mustache page(std::string(page_templates.at(fmt::format("{}.mustache", name))));
  page.set_custom_escape([](const std::string& text) { return escaped(text); });
  std::string text = page.render(data);
  if (!page.is_valid()) throw std::logic_error(page.error_message());
  return text;
}

std::string_view page_file(std::string_view name) { return page_templates.at(name); }

std::string script_policy(std::string_view file) {
  Digest digest;
  digest.add_bytes(page_file(file));
  return "; script-src 'sha256-" + digest.base64() + "'";
}

Json cell_values(const std::vector<Cell>& row) {
  return array_of(row, [](const Cell& cell) -> Json {
    return {{"text", cell.text}, {"tone", css_class(cell.tone)}};
  });
}

Json listed(Json items) { return items.empty() ? Json() : Json{{"each", std::move(items)}}; }

std::string markdown_text(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string markdown_code(std::string_view text, bool in_table) {
  std::string line = printable(text);
  if (line.find_first_not_of(' ') == std::string::npos) return "(empty)";
  const std::string marks = fence(line, 1);
  if (in_table) {  // cells are told apart before code is looked for
    for (std::size_t at = 0; (at = line.find('|', at)) != std::string::npos; at += 2) {
      line.insert(at, 1, '\\');
    }
  }
  // One blank at each end is no part of the code where both are there.
  const bool apart =
      line.front() == '`' || line.back() == '`' || (line.front() == ' ' && line.back() == ' ');
  return apart ? marks + " " + line + " " + marks : marks + line + marks;
}

std::string markdown_block(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const std::string marks = fence(text, 3);
  return marks + "\n" + text + marks + "\n";
}

}  // namespace prenorm::harness
