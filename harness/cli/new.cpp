// prenorm new: a submission to start from, which builds and grades at 0 points.
#include "base/files.hpp"
#include "base/paths.hpp"
#include "base/json.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "fixture/describe.hpp"
#include "fixture/selection.hpp"
#include "grade/adapters.hpp"
#include "grade/rubric.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <stdexcept>

namespace prenorm::harness {
namespace {

struct NewOptions {
  std::string folder, language, rubric;
  std::vector<std::string> fixtures, problems;
};

/// How wide generated code may be.
constexpr std::size_t code_columns = 100;

// --- C++ --------------------------------------------------------------------------------------

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

/// A C++ function template that throws not_implemented, with the contract above it; `device`: with
/// a Stream at the end of its parameters.
std::string cpp_function(const Fixture& fixture, bool device) {
  std::string text = comment(fixture.problem(), "");
  text += "///\n";
  text += comment(wrapped_signature(fixture.signature_text(), 4, code_columns - 4), "    ");
  if (!fixture.source().empty()) {
    text += "///\n" + comment(wrapped(printable(fixture.source()), 0, code_columns - 4), "");
  }
  text += "template <class T>\n";
  std::string line = "void " + cpp_name(fixture.problem()) + "(";
  const std::string indent(line.size(), ' ');
  const std::vector<std::string> list = parameters(fixture.signature(), device);
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

/// The line that exports it from namespace mine.
std::string cpp_export(const std::string& problem) {
  return fmt::format("PRENORM_EXPORT({}, mine::{})\n", problem, cpp_name(problem));
}

// --- Python -----------------------------------------------------------------------------------

std::string python_name(const std::string& name) {
  if (!is_identifier(name))
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

/// A Python function that raises NotImplementedError, with its arguments in a docstring.
/// `adapter` is what Adapters::json() says of the problem. Throws std::invalid_argument for a name
/// that is not valid in Python.
std::string python_function(const Fixture& fixture, const Json& adapter) {
  const Signature& signature = fixture.signature();
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
  text += fmt::format("    \"\"\"{}\n\n        {}\n\n", fixture.problem(),
                      wrapped_signature(fixture.signature_text(), 8, code_columns));
  if (!fixture.source().empty()) {
    text += fmt::format("    {}\n\n", wrapped(quoted(fixture.source()), 4, code_columns));
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

// --- the folder -------------------------------------------------------------------------------

bool is_python(const std::string& language) { return language == "python" || language == "triton"; }

/// The words that templates leave open: @FUNCTIONS@ and others.
using Words = std::map<std::string, std::string>;

std::string filled(const std::string& pattern, const Words& words) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t begin = std::min(pattern.find('@', at), pattern.size());
    const std::size_t end = pattern.find('@', begin + 1);
    text += pattern.substr(at, begin - at);
    at = begin;
    if (begin == pattern.size()) break;
    const auto found = end == std::string::npos
                           ? words.end()
                           : words.find(pattern.substr(begin + 1, end - begin - 1));
    text += found == words.end() ? "@" : found->second;
    at = found == words.end() ? begin + 1 : end + 1;
  }
  return text;
}

bool grades(const Rubric& rubric, const std::string& problem) {
  return std::ranges::any_of(rubric.items,
                             [&](const RubricItem& item) { return item.has(problem); });
}

/// The problems of the fixtures, those with the fewest arguments first: one is built of another.
std::vector<SelectedFixture> problems_of(const NewOptions& options, const Rubric* rubric) {
  Selection selection;
  selection.fixtures = options.fixtures;
  selection.problems = options.problems;
  std::vector<SelectedFixture> problems =
      open_files(selection, processors(), Requirements{.tolerances = false});
  for (const SelectedFixture& file : problems) {
    if (!file.fixture) throw UsageError(file.path + ": " + file.error);
  }
  std::erase_if(problems, [rubric](const SelectedFixture& file) {
    return rubric != nullptr && !grades(*rubric, file.problem);
  });
  std::ranges::stable_sort(problems, {}, [](const SelectedFixture& file) {
    const Signature& signature = file.fixture->signature();
    return signature.inputs.size() + signature.scalars.size();
  });
  return problems;
}

/// What Adapters::json() says, for those of the problems that have a function; the others go.
Json adapters_for(std::vector<SelectedFixture>& problems, const Rubric& rubric) {
  if (rubric.adapters.empty()) {
    throw UsageError("rubric " + rubric.name +
                     " has no adapters file, which names the Python functions");
  }
  std::map<std::string, std::string> signatures;
  for (const SelectedFixture& file : problems) {
    signatures[file.problem] = file.fixture->signature_text();
  }
  const Adapters adapters(rubric.path.parent_path() / rubric.adapters, signatures);
  auto json = adapters.empty() ? Json::object() : parse_json(adapters.json());
  std::erase_if(problems,
                [&](const SelectedFixture& file) { return !json.contains(file.problem); });
  return json;
}

/// Writes every template of the language; the names written, sorted.
std::vector<std::string> write_files(const fs::path& folder, const std::string& language,
                                     const Words& words) {
  const fs::path templates = home() / "share/prenorm/templates" / language;
  std::error_code error;
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(templates, error)) {
    if (entry.path().extension() != ".in") continue;
    const auto pattern = read_whole(entry.path());
    if (!pattern) throw UsageError(entry.path().string() + ": cannot be read");
    files[entry.path().stem()] = filled(*pattern, words);
  }
  if (files.empty()) throw UsageError(templates.string() + ": no templates there");
  files[".gitignore"] = is_python(language) ? "__pycache__/\n.venv/\n" : "build/\n";
  const bool is_new = fs::create_directories(folder, error);
  if (error) throw UsageError(folder.string() + ": " + error.message());
  std::vector<std::string> names;
  try {
    for (const auto& [name, text] : files) {
      write_text((folder / name).string(), text);
      names.push_back(name);
    }
  } catch (const UsageError&) {  // half a start is none
    for (const std::string& name : names) fs::remove(folder / name, error);
    if (is_new) fs::remove(folder, error);
    throw;
  }
  return names;
}

int start(const NewOptions& options) {
  const fs::path folder = options.folder;
  require_empty_folder(folder);
  const bool device = options.language == "cuda";
  const bool python = is_python(options.language);
  const std::string usual = python ? "cs336-2025" : "all";
  const std::string graded_by = options.rubric.empty() ? usual : options.rubric;
  const Rubric rubric = read_rubric(graded_by);
  std::vector<SelectedFixture> problems =
      problems_of(options, options.rubric.empty() ? nullptr : &rubric);
  Words words{{"FUNCTIONS", ""}, {"EXPORTS", ""}, {"LIST", ""}};
  if (python) {
    const auto adapters = adapters_for(problems, rubric);
    for (const SelectedFixture& file : problems) {
      std::string& functions = words["FUNCTIONS"];
      functions += (functions.empty() ? "" : "\n\n") +
                   python_function(*file.fixture, adapters.at(file.problem));
    }
  }
  if (problems.empty()) {
    throw UsageError("no problem selected" + (options.problems.empty() || options.rubric.empty()
                                                  ? std::string()
                                                  : ": rubric " + rubric.name + " grades none of " +
                                                        joined(options.problems)));
  }
  for (const SelectedFixture& file : problems) {
    const bool graded = grades(rubric, file.problem);
    words["LIST"] += "- `" + file.problem + (graded ? "`\n" : "` (no points of its own)\n");
    if (graded && words["FIRST"].empty()) words["FIRST"] = file.problem;
    if (python) continue;
    words["FUNCTIONS"] += cpp_function(*file.fixture, device) + "\n";
    words["EXPORTS"] += cpp_export(file.problem);
  }
  // The templates have the line's end.
  for (const char* word : {"FUNCTIONS", "EXPORTS", "LIST"}) {
    if (words[word].ends_with('\n')) words[word].pop_back();
  }
  if (words["FIRST"].empty()) words["FIRST"] = problems.front().problem;
  std::error_code ignored;
  // The README is read in the folder itself.
  const bool shipped = rubric.path.parent_path() == read_rubric(usual).path.parent_path();
  words["RUBRIC"] =
      shell_word(shipped ? graded_by : fs::proximate(rubric.path, folder, ignored).string());
  words["PREFIX"] = shell_word(fs::weakly_canonical(home(), ignored).string());

  const std::vector<std::string> names = write_files(folder, options.language, words);
  const std::string where = shell_word(options.folder), program = program_name();
  std::string text = fmt::format("{}: {} to write; {}\n\nNext:\n", printable(options.folder),
                                 counted(problems.size(), "function"), joined(names));
  if (device) {
    text += fmt::format("  {} verify --solution {}\n", program,
                        shell_word((folder / "solution.cu").string()));
  } else if (!python) {
    const std::string build = shell_word((folder / "build").string());
    text += fmt::format("  cmake -S {} -B {} -DCMAKE_PREFIX_PATH={} && cmake --build {}\n", where,
                        build, words["PREFIX"], build);
    text += fmt::format("  {} verify --solution {}\n", program,
                        shell_word((folder / "build/libmine.so").string()));
  }
  text += fmt::format("  {} grade {} --rubric {}\n", program, where, shell_word(graded_by));
  text +=
      fmt::format("\nOr see after each save what passes, with hints:\n  {} watch {} --rubric {}\n",
                  program, where, shell_word(graded_by));
  print(text);
  return 0;
}

}  // namespace

Command new_command() {
  const auto options = std::make_shared<NewOptions>();
  NewOptions& o = *options;
  return {
      .name = "new",
      .description = "Create a submission to start from: it builds and scores 0 points",
      .options = {{"DIR TEXT", o.folder, "A new or empty folder", Trait::required},
                  {"--language", o.language, "What it is written in", Trait::required,
                   OneOf{"cpp", "cuda", "python", "triton"}},
                  {"--rubric NAME|FILE", o.rubric,
                   "Only the problems that this rubric grades; in Python, by its function names\n"
                   "(default: all problems; in Python, all that cs336-2025 has a name for)"},
                  {"--problem NAME", o.problems, "Only this problem (glob)"},
                  {"--fixtures PATH", o.fixtures, "Fixture file, or folder of them"}},
      .footer = R"(Examples:
  prenorm new mine --language cpp
  prenorm new mine --language python --rubric cs336-2024)",
      .run = [options] { return start(*options); }};
}

}  // namespace prenorm::harness
