#include "cli/describe.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {

std::string to_text(const Scalar& scalar) {
  return std::visit([](const auto value) { return fmt::format("{}", value); }, scalar);
}

std::string describe_sizes(const Case& info, const Signature& signature) {
  std::vector<std::string> words, scalars, outputs;
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    if (info.inputs[i]) {
      words.push_back(signature.inputs[i].name + to_text(info.inputs[i]->type.shape));
    }
  }
  for (std::size_t i = 0; i < info.scalars.size(); ++i) {
    scalars.push_back(signature.scalars[i].name + "=" + to_text(info.scalars[i]));
  }
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    outputs.push_back(signature.outputs[i].name + to_text(info.outputs[i].shape));
  }
  std::string text = joined(words, " ");
  if (!scalars.empty()) text += "; " + joined(scalars, " ");
  return text + " -> " + (info.error ? "an error" : joined(outputs, " "));
}

std::string describe_tolerance(const std::optional<Tolerance>& tolerance) {
  if (!tolerance) return "no tolerance";
  if (tolerance->atol == 0 && tolerance->rtol == 0) return "exact";
  return "|y - e| <= " + short_number(tolerance->atol) + " + " + short_number(tolerance->rtol) +
         " |e|";
}

std::string describe_tolerances(const std::optional<Tolerance>& tolerance,
                                const std::optional<Tolerance>& tf32) {
  return describe_tolerance(tolerance) + (tf32 ? "; tf32: " + describe_tolerance(tf32) : "");
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = display_width(text.substr(begin, end - begin));
    if (column > indent && column + 1 + length > width) {
      result += '\n';
      result.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += text.substr(begin, end - begin);
    column += length;
    begin = end + 1;
  }
  return result;
}

std::string wrapped_signature(const std::string& signature, std::size_t indent, std::size_t width) {
  constexpr char kept_together = '\x01';
  std::string text = signature;
  bool inside = false;
  for (char& c : text) {
    inside = (inside || c == '[') && c != ']';
    if (c == ' ' && inside) c = kept_together;
  }
  text = wrapped(text, indent, width);
  std::ranges::replace(text, kept_together, ' ');
  return text;
}

}  // namespace prenorm::harness
