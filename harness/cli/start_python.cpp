#include "base/json.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/start.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace prenorm::harness {
namespace {

std::string python_name(const std::string& name) {
  const bool fits =
      !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
      });
  if (!fits)
    throw std::invalid_argument(fmt::format("'{}' is not a valid name in Python", printable(name)));
  return name;
}

/// Text inside a docstring, escaped so that it does not end it.
std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '\\') safe += '\\';
    safe += c == '"' ? '\'' : c;
  }
  return safe;
}

std::string dims_text(const TensorSpec& spec, const std::string& rows = "") {
  std::vector<std::string> dims = spec.dims;
  if (!rows.empty() && !dims.empty()) dims.front().append(" / ").append(rows);
  if (spec.batched) dims.insert(dims.begin(), "...");
  return fmt::format("[{}]", joined(dims));
}

std::string tensor_text(const TensorSpec& spec) {
  return (spec.dtype ? std::string(name(*spec.dtype)) + " tensor " : std::string("tensor ")) +
         dims_text(spec) + (spec.optional ? ", or None" : "");
}

std::string_view kind_text(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::integer: return "int";
    case ScalarKind::floating: return "float";
    default: return "bool";
  }
}

/// An argument's type: "tensor [..., d_model]", "int", "always 0.0".
std::string argument_text(const Json& value, const Signature& signature) {
  if (value.contains("constant")) return fmt::format("always {}", value["constant"].dump());
  if (value.contains("dimension")) return "int";
  if (value.contains("scalar")) {
    const ScalarSpec& spec = signature.scalars.at(value["scalar"].get<std::size_t>());
    return std::string(kind_text(spec.kind));
  }
  const TensorSpec& spec = signature.inputs.at(value.at("input").get<std::size_t>());
  if (value.contains("blocks")) {
    const std::string& count =
        signature.scalars.at(value["blocks"]["scalar"].get<std::size_t>()).name;
    return fmt::format("tensor {}; {{N}}: 0 to {} - 1", dims_text(spec, count), count);
  }
  if (value.contains("slices")) {
    TensorSpec slice = spec;
    slice.dims.erase(slice.dims.begin());
    return fmt::format("tensor {}; {{N}}: 0 to {} - 1", dims_text(slice), spec.dims.front());
  }
  if (value.contains("not")) return tensor_text(spec) + "; the opposite of " + spec.name + " above";
  return tensor_text(spec);
}

}  // namespace

std::string python_function(const StartProblem& problem, const Json& adapter) {
  const Signature& signature = problem.signature;
  std::string parameters, arguments;
  for (const Json& argument : adapter.at("arguments")) {
    const std::string name = argument.at("name");
    const Json& value = argument.at("value");
    parameters += (parameters.empty() ? "" : ", ") + python_name(name);
    if (!value.contains("dict")) {
      arguments += "    " + name + ": " + quoted(argument_text(value, signature)) + "\n";
      continue;
    }
    arguments += "    " + name + ": dict of\n";
    for (const Json& entry : value["dict"]) {
      arguments += fmt::format("        '{}': {}\n", quoted(entry.at("name")),
                               quoted(argument_text(entry.at("value"), signature)));
    }
  }
  std::string head = "def " + python_name(adapter.at("function")) + "(";
  std::string text = head + wrapped(parameters, head.size(), code_columns - 2) + "):\n";
  text += fmt::format("    \"\"\"{}\n\n        {}\n\n", problem.name,
                      wrapped_signature(problem.signature_text, 8, code_columns));
  if (!problem.source.empty()) {
    text += fmt::format("    {}\n\n", wrapped(quoted(problem.source), 4, code_columns));
  }
  text += arguments;
  std::vector<std::string> remarks;
  if (adapter.contains("only")) {
    for (const Json& only : adapter["only"]) {
      remarks.push_back(fmt::format("{} is {}: there is no argument for it.",
                                    only.at("name").get<std::string>(), only.at("value").dump()));
    }
  }
  if (adapter.contains("fold")) remarks.emplace_back("... is one batch axis.");
  if (!remarks.empty()) text += fmt::format("\n    {}\n", quoted(joined(remarks, " ")));
  std::vector<std::string> results;
  for (const TensorSpec& spec : signature.outputs) results.push_back(tensor_text(spec));
  return text + fmt::format("\n    Returns a {}.\n    \"\"\"\n    raise NotImplementedError\n",
                            joined(results, " and a "));
}

}  // namespace prenorm::harness
