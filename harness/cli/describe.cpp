#include "cli/describe.hpp"

#include "report/text.hpp"

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

}  // namespace prenorm::harness
