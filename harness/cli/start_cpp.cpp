#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/start.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

/// C++ keywords that are valid names in a signature.
constexpr std::array<std::string_view, 60> reserved{
    "and",     "asm",     "auto",     "bool",     "break",   "case",   "catch",    "char",
    "class",   "concept", "const",    "continue", "default", "delete", "do",       "double",
    "else",    "enum",    "explicit", "export",   "extern",  "false",  "float",    "for",
    "friend",  "goto",    "if",       "inline",   "int",     "long",   "mutable",  "namespace",
    "new",     "not",     "operator", "or",       "private", "public", "register", "requires",
    "return",  "short",   "signed",   "sizeof",   "static",  "struct", "switch",   "template",
    "this",    "throw",   "true",     "try",      "typedef", "union",  "unsigned", "using",
    "virtual", "void",    "volatile", "while"};

std::string cpp_name(const std::string& name) {
  return std::ranges::find(reserved, name) == reserved.end() ? name : name + "_";
}

std::string element_type(const TensorSpec& spec) {
  if (!spec.dtype) return "T";
  switch (*spec.dtype) {
    case DType::float64: return "double";
    case DType::float32: return "float";
    case DType::float16: return "prenorm::float16";
    case DType::bfloat16: return "prenorm::bfloat16";
    case DType::int64: return "std::int64_t";
    case DType::boolean: return "bool";
  }
  return "T";
}

std::vector<std::string> parameters(const Signature& signature, bool device) {
  std::vector<std::string> list;
  for (const TensorSpec& spec : signature.inputs) {
    const std::string view = "prenorm::View<const " + element_type(spec) + ">";
    list.push_back((spec.optional ? "std::optional<" + view + ">" : view) + " " +
                   cpp_name(spec.name));
  }
  for (const ScalarSpec& spec : signature.scalars) {
    const char* type = spec.kind == ScalarKind::integer    ? "std::int64_t "
                       : spec.kind == ScalarKind::floating ? "double "
                                                           : "bool ";
    list.push_back(type + cpp_name(spec.name));
  }
  for (const TensorSpec& spec : signature.outputs) {
    list.push_back("prenorm::View<" + element_type(spec) + "> " + cpp_name(spec.name));
  }
  if (device) list.emplace_back("prenorm::Stream stream");
  return list;
}

/// The text as comment lines. None ends in a backslash, which would continue the comment.
std::string comment(const std::string& text, const std::string& indent) {
  std::string lines = "/// " + indent + text;
  std::ranges::replace(lines, '\\', '/');
  for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1)) {
    lines.insert(at + 1, "/// ");
  }
  return lines + "\n";
}

}  // namespace

std::string cpp_function(const StartProblem& problem, bool device) {
  std::string text = comment(problem.name, "");
  text += "///\n";
  text += comment(wrapped_signature(problem.signature_text, 4, code_columns - 4), "    ");
  if (!problem.source.empty()) {
    text += "///\n" + comment(wrapped(printable(problem.source), 0, code_columns - 4), "");
  }
  text += "template <class T>\n";
  std::string line = "void " + cpp_name(problem.name) + "(";
  const std::string indent(line.size(), ' ');
  const std::vector<std::string> list = parameters(problem.signature, device);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string piece = list[i] + (i + 1 < list.size() ? "," : ") {");
    if (i > 0 && line.size() + 1 + piece.size() > code_columns) {
      text += line + "\n";
      line = indent + piece;
    } else {
      line += (i > 0 ? " " : "") + piece;
    }
  }
  return text + line + "\n  throw prenorm::not_implemented();\n}\n";
}

std::string cpp_export(const StartProblem& problem) {
  return fmt::format("PRENORM_EXPORT({}, mine::{})\n", problem.name, cpp_name(problem.name));
}

}  // namespace prenorm::harness
