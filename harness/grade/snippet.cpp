#include "base/text.hpp"
#include "explain/numbers.hpp"
#include "fixture/describe.hpp"
#include "grade/adapters.hpp"

#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr std::int64_t most_inlined = 128;  // numbers, of all inputs together
constexpr std::int64_t most_expected = 16;  // that stand in the last line
constexpr std::size_t most_snippet_lines = 8;

std::string python_number(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "True" : "False";
  if (dtype == DType::int64) return fmt::format("{:.0f}", value);
  if (std::isnan(value)) return "float('nan')";
  if (std::isinf(value)) return value > 0 ? "float('inf')" : "-float('inf')";
  std::string text = dtype == DType::float64 ? fmt::format("{}", value)
                                             : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += '.';
  return text;
}

/// "[[1., 2.], [3., 4.]]".
std::string python_list(const Tensor& tensor, DType as) {
  return nested(tensor, [as](double value) { return python_number(value, as); });
}

std::string numpy_tensor(const Tensor& tensor) {
  const bool truth = tensor.dtype == DType::boolean;
  const std::string dtype = ", dtype=" + (truth ? "bool" : "np." + std::string(name(tensor.dtype)));
  if (tensor.size() == 0) return "np.empty(" + to_text(tensor.shape) + dtype + ")";
  return "np.array(" + python_list(tensor, tensor.dtype) + dtype + ")";
}

std::string torch_tensor(const Tensor& tensor) {
  const std::string dtype = ", dtype=torch." + std::string(name(tensor.dtype)) + ")";
  if (tensor.size() == 0) {
    return fmt::format("torch.empty({}{}", fmt::join(tensor.shape, ", "), dtype);
  }
  const bool is_default = tensor.dtype == DType::float32 || tensor.dtype == DType::int64 ||
                          tensor.dtype == DType::boolean;
  return "torch.tensor(" + python_list(tensor, tensor.dtype) + (is_default ? ")" : dtype);
}

/// 0, 1, 2, ... along the last axis: what is given in every call, and not part of the stored case.
std::string python_counted(const Tensor& tensor, bool numpy) {
  std::string text =
      std::string(numpy ? "np" : "torch") + ".arange(" + std::to_string(tensor.shape.back()) + ")";
  for (std::size_t i = 1; i < tensor.shape.size(); ++i) text += "[None]";
  return text;
}

std::string python_scalar(const Scalar& scalar) {
  if (const bool* truth = std::get_if<bool>(&scalar)) return *truth ? "True" : "False";
  return to_text(scalar);
}

/// How the call's arguments are written, by the adapters' rules.
class Arguments {
 public:
  Arguments(const Signature& signature, const LoadedCase& loaded, const Case& stored, bool loads,
            bool numpy)
      : signature_(signature), loaded_(loaded), stored_(stored), loads_(loads), numpy_(numpy) {}

  std::string of(const Json& rule) const {
    if (rule.contains("constant")) return python_constant(rule["constant"]);
    if (rule.contains("scalar")) return python_scalar(loaded_.info.scalars[rule["scalar"]]);
    if (rule.contains("dimension")) {
      const std::size_t place = rule["dimension"][0];
      const std::ptrdiff_t axis = rule["dimension"][1];  // from the last
      const Shape& shape = loaded_.inputs[place]->shape;
      return std::to_string(shape[static_cast<std::size_t>(std::ssize(shape) + axis)]);
    }
    if (rule.contains("dict")) return dictionary(rule["dict"]);
    const std::size_t place = rule["input"];
    if (!loaded_.inputs[place]) return "None";
    return (rule.value("not", false) ? "~" : "") + variable(place);
  }

 private:
  static std::string python_constant(const Json& value) {
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    return value.dump();
  }

  std::string variable(std::size_t place) const {
    const std::string& name = signature_.inputs[place].name;
    if (loads_ && !stored_.inputs[place]) return python_counted(*loaded_.inputs[place], numpy_);
    return loads_ ? "c['" + name + "']" : name;
  }

  std::string dictionary(const Json& entries) const {
    std::vector<std::string> parts;
    for (const Json& entry : entries) {
      const Json& rule = entry["value"];
      std::string key = entry["name"];
      const bool numbered = rule.contains("slices") || rule.contains("blocks");
      if (!numbered) {
        parts.push_back("'" + key + "': " + of(rule));
        continue;
      }
      key.replace(key.find("{N}"), 3, "%d");
      std::string each = variable(rule["input"]);
      if (rule.contains("blocks")) {
        each = (numpy_ ? "np.split(" + each + ", " : each + ".chunk(") + of(rule["blocks"]) + ")";
      }
      parts.push_back("**{'" + key + "' % n: w for n, w in enumerate(" + each + ")}");
    }
    return "{" + joined(parts) + "}";
  }

  const Signature& signature_;
  const LoadedCase& loaded_;
  const Case& stored_;
  bool loads_, numpy_;
};

/// Of what is called and compared.
bool has_bfloat16(const LoadedCase& loaded) {
  return std::ranges::any_of(
             loaded.inputs,
             [](const auto& input) { return input && input->dtype == DType::bfloat16; }) ||
         loaded.info.dtype() == DType::bfloat16;
}

/// The last line: what comes out, and what should.
std::string comparison(const LoadedCase& loaded, const Result& result, bool loads,
                       const std::string& output) {
  if (loaded.expected.size() != 1) return "print(y)";
  const Tensor& expected = loaded.expected.front();
  if (result.status == Status::incorrect_dtype) {
    return "print(y.dtype)  # expected " + std::string(name(loaded.info.outputs.front().dtype));
  }
  if (result.status == Status::incorrect_shape) {
    return "print(y.shape)  # expected " + to_text(expected.shape);
  }
  if (expected.size() > 0 && expected.size() <= most_expected) {
    return "print(y.tolist())  # expected " + python_list(expected, DType::float32);
  }
  if (result.outputs.size() == 1 && result.outputs.front().worst_expected &&
      !expected.shape.empty()) {
    const OutputReport& report = result.outputs.front();
    return fmt::format("print(y{}.item())  # expected {}", to_text(report.worst_index),
                       python_number(*report.worst_expected, DType::float32));
  }
  if (loads) return "print(y.shape, c['expected_" + output + "'].shape)";
  return "print(y.shape)  # expected " + to_text(expected.shape);
}

}  // namespace

Snippets::Snippets(const Adapters& adapters, bool numpy)
    : numpy_(numpy), functions_(adapters.empty() ? Json::object() : parse_json(adapters.json())) {}

std::string Snippets::of(const std::string& problem, const Signature& signature,
                         const LoadedCase& loaded, const Case& stored, const Result& result) const {
  if (loaded.info.error || loaded.expected.empty() || !functions_.contains(problem)) return "";
  const Json& function = functions_[problem];
  if (numpy_ && has_bfloat16(loaded)) return "";
  if (function.contains("fold") && loaded.info.binding.batch.size() != 1) return "";
  std::int64_t numbers = 0;
  for (const auto& input : loaded.inputs) numbers += input ? input->size() : 0;
  const bool loads = numbers > most_inlined;
  std::vector<std::string> lines{(numpy_ ? "import numpy as np" : "import torch") +
                                 std::string("; from adapters import ") +
                                 function["function"].get<std::string>()};
  if (loads) {
    const std::string file = numpy_ ? "case.npz" : "case.pt";
    lines.push_back("# prenorm fixtures export " + problem + " --case " + loaded.info.name +
                    " --to " + file);
    lines.push_back(std::string("c = ") + (numpy_ ? "np" : "torch") + ".load('" + file + "')");
  } else {
    for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
      if (!loaded.inputs[i]) continue;
      const Tensor& tensor = *loaded.inputs[i];
      const std::string line =
          signature.inputs[i].name + " = " + (numpy_ ? numpy_tensor(tensor) : torch_tensor(tensor));
      if (lines.size() + 2 < most_snippet_lines) {
        lines.push_back(line);
      } else {
        lines.back() += "; " + line;
      }
    }
  }
  const Arguments arguments(signature, loaded, stored, loads, numpy_);
  std::vector<std::string> words;
  for (const Json& argument : function["arguments"]) {
    words.push_back(argument["name"].get<std::string>() + "=" + arguments.of(argument["value"]));
  }
  lines.push_back("y = " + function["function"].get<std::string>() + "(" + joined(words) + ")");
  if (result.status == Status::input_mutated && result.changed_input) {
    const std::string& input = signature.inputs[*result.changed_input].name;
    lines.push_back("print(" + (loads ? "c['" + input + "']" : input) + ")  # as it was before");
    return joined(lines, "\n") + "\n";
  }
  lines.push_back(comparison(loaded, result, loads, signature.outputs.front().name));
  return joined(lines, "\n") + "\n";
}

}  // namespace prenorm::harness
