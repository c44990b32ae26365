#include "bench/workload.hpp"

#include "base/files.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

namespace prenorm::harness::bench {
namespace {

/// The largest tensor that is believed: a slip in the file must not take all memory.
constexpr double most_bytes = 0x1p37;

[[noreturn]] void bad_shape(const std::string& why) { throw BadShapes(why); }

std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) bad_shape(std::string("wanted a text '") + key + "'");
  return at->get<std::string>();
}

const Json& object_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_object())
    bad_shape(std::string("wanted an object '") + key + "'");
  return *at;
}

/// "[rows, d_model] ~ normal(0, 1)".
ShapeEntry::Input parse_input(const std::string& name, const std::string& text) {
  const std::size_t tilde = text.find('~');
  const std::string shape = trimmed(text.substr(0, tilde));
  if (tilde == std::string::npos || !shape.starts_with('[') || !shape.ends_with(']')) {
    bad_shape("input " + name + " is '" + text + "', wanted '[extents] ~ draw'");
  }
  ShapeEntry::Input input;
  input.draw = trimmed(text.substr(tilde + 1));
  std::string rest = shape.substr(1, shape.size() - 2);
  while (!trimmed(rest).empty()) {
    const std::size_t comma = rest.find(',');
    input.extents.push_back(trimmed(rest.substr(0, comma)));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return input;
}

Scalar parse_scalar(const std::string& name, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  bad_shape("scalar " + name + " is neither a number nor true or false");
}

void check_keys(const Json& object) {
  static const std::set<std::string> known{"name",   "problem", "model",          "set",
                                           "dtypes", "dims",    "inputs",         "scalars",
                                           "bytes",  "flops",   "product_ceiling"};
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) bad_shape("unknown key '" + key + "'");
  }
}

ShapeEntry parse_entry(const Json& object) {
  check_keys(object);
  ShapeEntry entry;
  entry.name = text_at(object, "name");
  entry.problem = text_at(object, "problem");
  entry.model = text_at(object, "model");
  entry.set = text_at(object, "set");
  if (entry.set != "cpu" && entry.set != "device") {
    bad_shape("set is '" + entry.set + "', wanted 'cpu' or 'device'");
  }
  for (const Json& name : object.at("dtypes")) {
    const auto dtype = parse_dtype(name.get<std::string>());
    if (!dtype || !is_floating(*dtype)) bad_shape("no floating dtype " + name.dump());
    entry.dtypes.push_back(*dtype);
  }
  if (entry.dtypes.empty()) bad_shape("wanted at least one dtype");
  for (const auto& [name, value] : object_at(object, "dims").items()) {
    if (!value.is_number_unsigned()) bad_shape("dims: " + name + " must be a non-negative integer");
    entry.dims[name] = value.get<std::int64_t>();
  }
  for (const auto& [name, value] : object_at(object, "inputs").items()) {
    entry.inputs[name] = parse_input(name, value.get<std::string>());
  }
  if (object.contains("scalars")) {
    for (const auto& [name, value] : object_at(object, "scalars").items()) {
      entry.scalars[name] = parse_scalar(name, value);
    }
  }
  entry.bytes = text_at(object, "bytes");
  entry.flops = text_at(object, "flops");
  entry.product_ceiling = object.value("product_ceiling", false);
  return entry;
}

double bytes_of(const TensorType& type) {
  double bytes = static_cast<double>(size_of(type.dtype));
  for (const std::int64_t extent : type.shape) bytes *= static_cast<double>(extent);
  if (bytes > most_bytes) bad_shape("a tensor of " + to_text(type.shape) + " is too large");
  return bytes;
}

Shape resolve(const ShapeEntry::Input& input, const std::map<std::string, double>& dims) {
  Shape shape;
  for (const std::string& extent : input.extents) {
    const double value = evaluate(extent, dims);
    if (!(value >= 0 && value <= most_bytes) || value != std::floor(value)) {
      bad_shape("the extent '" + extent + "' is not an integer");
    }
    shape.push_back(static_cast<std::int64_t>(value));
  }
  return shape;
}

/// The scalars in signature order; an integer may stand for a float.
std::vector<Scalar> scalars_of(const ShapeEntry& entry, const Signature& signature) {
  std::vector<Scalar> scalars;
  for (const ScalarSpec& spec : signature.scalars) {
    const auto given = entry.scalars.find(spec.name);
    if (given == entry.scalars.end()) {
      if (!spec.default_value) bad_shape("scalar " + spec.name + " is missing");
      scalars.push_back(*spec.default_value);
      continue;
    }
    Scalar value = given->second;
    if (spec.kind == ScalarKind::floating && std::holds_alternative<std::int64_t>(value)) {
      value = static_cast<double>(std::get<std::int64_t>(value));
    }
    if (value.index() != static_cast<std::size_t>(spec.kind)) {
      bad_shape("scalar " + spec.name + " is of another kind than in the signature");
    }
    scalars.push_back(value);
  }
  for (const auto& [name, value] : entry.scalars) {
    const bool known =
        std::ranges::any_of(signature.scalars, [&](const auto& spec) { return spec.name == name; });
    if (!known) bad_shape("the signature has no scalar " + name);
  }
  return scalars;
}

void bind_inputs(Workload& workload, const std::map<std::string, double>& dims) {
  const ShapeEntry& entry = workload.entry;
  std::vector<std::optional<TensorType>> types;
  std::size_t used = 0;
  for (const TensorSpec& spec : workload.signature.inputs) {
    const auto given = entry.inputs.find(spec.name);
    auto& info = workload.info.inputs.emplace_back();
    auto& type = types.emplace_back();
    if (given == entry.inputs.end()) continue;
    ++used;
    type = TensorType{spec.dtype.value_or(workload.dtype), resolve(given->second, dims)};
    info = InputInfo{*type, given->second.draw};
    workload.bytes_read += bytes_of(*type);
  }
  if (used < entry.inputs.size()) bad_shape("an input that the signature does not have");
  workload.info.binding = harness::bind(workload.signature, types);
  for (const TensorType& type : output_types(workload.signature, workload.info.binding)) {
    workload.info.outputs.push_back({type.shape, type.dtype, {}, {}, {}});
    workload.bytes_written += bytes_of(type);
  }
}

void count(Workload& workload, std::map<std::string, double> names) {
  const ShapeEntry& entry = workload.entry;
  names["T"] = static_cast<double>(size_of(workload.dtype));  // bytes of an element
  workload.flops = evaluate(entry.flops, names);
  workload.bytes = entry.bytes == "io" ? workload.bytes_read + workload.bytes_written
                                       : evaluate(entry.bytes, names);
  if (!(workload.bytes > 0) || !(workload.flops >= 0))
    bad_shape("bytes and flops must be positive");
}

Json to_json(const Scalar& scalar) {
  return std::visit([](auto value) { return Json(value); }, scalar);
}

/// sum = product (+- product)*;  product = factor (*/ factor)*;  factor = number | name | (sum)
class ExpressionParser {
 public:
  ExpressionParser(const std::string& text, const std::map<std::string, double>& names)
      : text_(text), rest_(text), names_(names) {}

  double whole() {
    const double value = sum();
    if (!peek().empty()) fail("wanted an operator before '" + std::string(rest_) + "'");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw ExpressionError("'" + text_ + "': " + why);
  }

  /// What is left, without the blanks before it.
  std::string_view peek() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    return rest_;
  }

  /// Takes the next character if it is one of these; else 0.
  char accept(std::string_view which) {
    if (peek().empty() || which.find(rest_.front()) == which.npos) return 0;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  double sum() {
    double value = product();
    while (const char c = accept("+-")) value += c == '+' ? product() : -product();
    return value;
  }

  double product() {
    double value = factor();
    while (const char c = accept("*/")) value = c == '*' ? value * factor() : value / factor();
    return value;
  }

  double factor() {
    if (accept("(") != 0) {
      if (++depth_ > 100) fail("too many parentheses");
      const double value = sum();
      if (accept(")") == 0) fail("wanted a ')'");
      --depth_;
      return value;
    }
    const std::string_view rest = peek();
    if (rest.empty()) fail("it ends too soon");
    if (is_letter(rest.front())) return name();
    if (is_digit(rest.front()) || rest.front() == '.') return number();
    fail("wanted a number or a name at '" + std::string(rest) + "'");
  }

  double name() {
    std::size_t length = 0;
    while (length < rest_.size() && (is_letter(rest_[length]) || is_digit(rest_[length]))) ++length;
    const std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length);
    const auto found = names_.find(word);
    if (found == names_.end()) fail("'" + word + "' is not a dimension");
    return found->second;
  }

  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail("wanted a number or a name at '" + std::string(rest_) + "'");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  const std::string& text_;
  std::string_view rest_;
  const std::map<std::string, double>& names_;
  int depth_ = 0;
};

Workloads bind_all(const std::vector<ShapeEntry>& entries, const BenchOptions& options) {
  Selection needed;
  needed.fixtures = options.selection.fixtures;
  for (const ShapeEntry& entry : entries) needed.problems.push_back(entry.problem);
  std::map<std::string, Signature> signatures;
  for (const SelectedFixture& file :
       open_files(needed, processors(), Requirements{.tolerances = false})) {
    if (!file.fixture) throw UsageError(file.error);
    signatures.emplace(file.problem, file.fixture->signature());
  }
  Workloads workloads;
  for (const ShapeEntry& entry : entries) {
    for (const DType dtype : entry.dtypes) {
      try {
        workloads.push_back(std::make_shared<const Workload>(
            bind_entry(entry, dtype, signatures.at(entry.problem))));
      } catch (const BadShapes& error) {
        throw UsageError(options.file + ": " + error.what());
      }
    }
  }
  return workloads;
}

/// The first of the --shape options that the workload fits.
std::size_t place_of(const Workload& workload, const std::vector<std::string>& shapes) {
  const auto fitting = std::ranges::find_if(
      shapes, [&](const std::string& shape) { return selects({shape}, workload.entry.name); });
  return static_cast<std::size_t>(fitting - shapes.begin());
}

}  // namespace

std::vector<ShapeEntry> read_entries(const fs::path& path) {
  const std::optional<std::string> text = read_whole(path);
  if (!text) throw BadShapes(path.string() + ": cannot be read");
  std::string where = path.string();
  try {
    const Json root = parse_json(*text);
    if (!root.is_object() || root.value("format", "") != "prenorm-shapes" ||
        root.value("version", 0) != 1) {
      bad_shape("wanted the format prenorm-shapes, version 1");
    }
    std::vector<ShapeEntry> entries;
    std::set<std::string> names;
    for (const Json& object : root.at("shapes")) {
      where = path.string() + ": entry " + std::to_string(entries.size() + 1);
      if (!object.is_object()) bad_shape("wanted an object");
      where = path.string() + ": " + object.value("name", "entry without a name");
      entries.push_back(parse_entry(object));
      if (!names.insert(entries.back().name).second) bad_shape("the name stands twice");
    }
    return entries;
  } catch (const std::exception& error) {
    throw BadShapes(where + ": " + error.what());
  }
}

std::string Workload::key() const { return entry.name + " " + std::string(harness::name(dtype)); }

Workload bind_entry(const ShapeEntry& entry, DType dtype, const Signature& signature) {
  Workload workload;
  workload.entry = entry;
  workload.dtype = dtype;
  workload.signature = signature;
  std::map<std::string, double> dims;
  for (const auto& [name, value] : entry.dims) dims[name] = static_cast<double>(value);
  try {
    workload.info.name = entry.name;
    workload.info.scalars = scalars_of(entry, signature);
    bind_inputs(workload, dims);
    count(workload, dims);
    for (const auto& input : workload.info.inputs) {
      if (input) check_draw(input->draw, workload);
    }
  } catch (const std::runtime_error& error) {
    throw BadShapes(entry.name + ": " + error.what());
  }
  return workload;
}

Json identity(const Workload& workload) {
  Json inputs = Json::object(), scalars = Json::object();
  for (std::size_t i = 0; i < workload.info.inputs.size(); ++i) {
    const auto& input = workload.info.inputs[i];
    if (!input) continue;
    inputs[workload.signature.inputs[i].name] = {
        {"dtype", name(input->type.dtype)}, {"shape", input->type.shape}, {"draw", input->draw}};
  }
  for (std::size_t i = 0; i < workload.info.scalars.size(); ++i) {
    scalars[workload.signature.scalars[i].name] = to_json(workload.info.scalars[i]);
  }
  return {{"problem", workload.entry.problem},
          {"dtype", name(workload.dtype)},
          {"inputs", std::move(inputs)},
          {"scalars", std::move(scalars)}};
}

double evaluate(const std::string& text, const std::map<std::string, double>& names) {
  return ExpressionParser(text, names).whole();
}

void check_names(const std::vector<ShapeEntry>& entries, const BenchOptions& options) {
  std::set<std::string> names, problems, dtypes;
  for (const ShapeEntry& entry : entries) {
    names.insert(entry.name);
    problems.insert(entry.problem);
    for (const DType dtype : entry.dtypes) dtypes.insert(std::string(name(dtype)));
  }
  const std::string where = "among the shapes";
  require_known(options.shapes, names, "shape", where);
  require_known(options.selection.problems, problems, "problem", where);
  require_known(options.selection.dtypes, dtypes, "dtype", where);
}

Workloads read_workloads(const BenchOptions& options) try {
  const std::vector<ShapeEntry> entries = read_entries(options.file);
  check_names(entries, options);
  Workloads workloads = bind_all(entries, options);
  std::ranges::stable_sort(
      workloads, {}, [&](const auto& workload) { return place_of(*workload, options.shapes); });
  return workloads;
} catch (const BadShapes& error) {
  throw UsageError(error.what());
}

bool is_selected(const Workload& workload, const BenchOptions& options) {
  const std::vector<std::string>& dtypes = options.selection.dtypes;
  return selects(options.selection.problems, workload.entry.problem) &&
         selects(options.shapes, workload.entry.name) &&
         (dtypes.empty() || std::ranges::find(dtypes, name(workload.dtype)) != dtypes.end()) &&
         (options.set.empty() || options.set == workload.entry.set);
}

}  // namespace prenorm::harness::bench
