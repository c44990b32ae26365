#include "grade/adapters.hpp"

#include "base/text.hpp"
#include "base/toml_file.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

namespace prenorm::harness {
namespace {

struct Entry {
  std::string name;
  const toml::node* node = nullptr;
  std::pair<toml::source_index, toml::source_index> at;  // line and column
};

/// The entries in the order of the file, which for arguments is that of the function's parameters.
std::vector<Entry> in_order(const toml::table& table) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) {
    const toml::source_position at = key.source().begin;
    entries.push_back({std::string(key.str()), &node, {at.line, at.column}});
  }
  std::ranges::sort(entries, {}, &Entry::at);
  return entries;
}

}  // namespace

/// One problem's function, read and resolved by the signature.
class Adapters::FunctionReader {
 public:
  FunctionReader(const fs::path& file, const std::string& problem, const Signature& signature)
      : where_(fmt::format("{}: [{}]", file.string(), problem)), signature_(signature) {}

  Json read(const toml::table& table) {
    for (const auto& [key, node] : table) known(key.str(), node);
    const std::optional<std::string> name = table["function"].value<std::string>();
    if (!name || name->empty()) wrong("function is missing: wanted its name as a text");
    function.name = *name;
    Json json{{"function", *name}};
    if (const toml::table* only = table["only"].as_table()) json["only"] = conditions(*only);
    if (table.contains("batch_axes")) json["fold"] = fold(table["batch_axes"]);
    if (const toml::table* given = table["given"].as_table()) read_given(*given);
    const toml::table* arguments = table["arguments"].as_table();
    if (arguments == nullptr) wrong("arguments are missing");
    json["arguments"] = entries(*arguments, false);
    return json;
  }

  Function function;

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw std::invalid_argument(where_ + ": " + what);
  }

  void known(std::string_view key, const toml::node& node) const {
    static const std::vector<std::string> keys{"function", "arguments", "only", "batch_axes",
                                               "given"};
    if (std::ranges::find(keys, key) == keys.end()) {
      wrong(fmt::format("unknown key '{}'{}", key, did_you_mean(key, keys)));
    }
    const bool table = key == "arguments" || key == "only" || key == "given";
    if (table && !node.is_table()) wrong(fmt::format("{} is not a table", key));
  }

  Json conditions(const toml::table& table) {
    Json list = Json::array();
    for (const auto& [name, node, at] : in_order(table)) {
      const std::optional<std::size_t> place = scalar(name);
      if (!place) unknown(name);
      const ScalarKind kind = signature_.scalars[*place].kind;
      Only only{name, *place, {}};
      if (kind == ScalarKind::boolean && node->is_boolean()) {
        only.value = **node->as_boolean();
      } else if (kind == ScalarKind::integer && node->is_integer()) {
        only.value = **node->as_integer();
      } else if (kind == ScalarKind::floating && node->is_number()) {
        only.value = *node->value<double>();
      } else {
        wrong(fmt::format("only.{} has another type than the scalar", name));
      }
      Json entry{{"scalar", *place}, {"name", name}};
      std::visit([&entry](auto value) { entry["value"] = value; }, only.value);
      list.push_back(std::move(entry));
      function.only.push_back(std::move(only));
    }
    return list;
  }

  void read_given(const toml::table& table) {
    for (const auto& [name, node, at] : in_order(table)) {
      if (name == "except") {
        const toml::array* cases = node->as_array();
        if (cases == nullptr) wrong("given.except: wanted a list of cases");
        for (const toml::node& each : *cases) {
          if (!each.is_string()) wrong("given.except: wanted a list of cases");
          function.absent.push_back(**each.as_string());
        }
        continue;
      }
      const std::optional<std::size_t> place = input(name);
      if (!place) unknown(name);
      const TensorSpec& spec = signature_.inputs[*place];
      if (node->value<std::string>() != "counted" || !spec.optional || spec.dtype != DType::int64 ||
          spec.dims.size() != 1) {
        wrong(
            fmt::format("given.{}: wanted \"counted\", for an optional tensor of int64 with one "
                        "axis",
                        name));
      }
      function.counted.push_back({*place, spec.dims[0]});
    }
  }

  /// `...` of the one batched input becomes a single axis.
  Json fold(toml::node_view<const toml::node> axes) const {
    if (axes.value<std::int64_t>() != 1) wrong("batch_axes: wanted 1, or no such line");
    std::vector<std::size_t> batched;
    for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
      if (signature_.inputs[i].batched) batched.push_back(i);
    }
    const bool outputs =
        std::ranges::all_of(signature_.outputs, [](const TensorSpec& y) { return y.batched; });
    if (signature_.whole_shape() || batched.size() != 1 || !outputs) {
      wrong("batch_axes needs one input with batch axes, and outputs that have them too");
    }
    return {{"input", batched[0]}, {"dims", signature_.inputs[batched[0]].dims.size()}};
  }

  Json entries(const toml::table& table, bool dictionary) {
    Json list = Json::array();
    for (const auto& [name, node, at] : in_order(table)) {
      Json made = value(name, *node, dictionary);
      const bool numbered = name.find("{N}") != std::string::npos;
      if (numbered != (made.contains("blocks") || made.contains("slices"))) {
        wrong(
            fmt::format("{}: {{N}} in a name and \"/\" or \"[N]\" in its value go together", name));
      }
      list.push_back({{"name", name}, {"value", std::move(made)}});
    }
    return list;
  }

  Json value(const std::string& name, const toml::node& node, bool dictionary) {
    if (const toml::table* table = node.as_table()) {
      if (dictionary) wrong(fmt::format("{}: a dictionary in a dictionary", name));
      return {{"dict", entries(*table, true)}};
    }
    if (const auto* integer = node.as_integer()) return {{"constant", **integer}};
    if (const auto* floating = node.as_floating_point()) return {{"constant", **floating}};
    if (const auto* boolean = node.as_boolean()) return {{"constant", **boolean}};
    const auto* text = node.as_string();
    if (text == nullptr) wrong(fmt::format("{}: wanted a text, a number or a table", name));
    const std::string word = trimmed(**text);
    if (word.starts_with("not ")) return inverted(trimmed(std::string_view(word).substr(4)));
    if (const auto slash = word.find('/'); slash != word.npos) {
      if (!dictionary) wrong(fmt::format("{}: blocks of rows belong in a dictionary", name));
      return blocks(trimmed(std::string_view(word).substr(0, slash)),
                    trimmed(std::string_view(word).substr(slash + 1)));
    }
    if (const auto bracket = word.find('['); bracket != word.npos) {
      if (word.substr(bracket) != "[N]") {
        wrong(fmt::format("{}: '{}': the only index that a tensor can have is [N]", name, word));
      }
      if (!dictionary) wrong(fmt::format("{}: slices of a tensor belong in a dictionary", name));
      return slices(trimmed(std::string_view(word).substr(0, bracket)));
    }
    return named(word);
  }

  Json inverted(const std::string& word) const {
    const std::optional<std::size_t> place = input(word);
    if (!place) unknown(word);
    if (signature_.inputs[*place].dtype != DType::boolean) {
      wrong(fmt::format("'not {}': that tensor is not of bool", word));
    }
    return {{"input", *place}, {"not", true}};
  }

  Json blocks(const std::string& tensor, const std::string& count) {
    const std::optional<std::size_t> place = input(tensor), number = scalar(count);
    if (!place) unknown(tensor);
    if (!number) unknown(count);
    const TensorSpec& spec = signature_.inputs[*place];
    if (spec.batched || spec.dims.empty() || spec.optional) {
      wrong(fmt::format("'{} / {}': wanted a tensor that is always there, without batch axes",
                        tensor, count));
    }
    if (signature_.scalars[*number].kind != ScalarKind::integer) {
      wrong(fmt::format("'{} / {}': {} is not an int", tensor, count, count));
    }
    function.blocks.push_back({*place, *number});
    return {{"input", *place}, {"blocks", {{"scalar", *number}}}};
  }

  Json slices(const std::string& tensor) const {
    const std::optional<std::size_t> place = input(tensor);
    if (!place) unknown(tensor);
    const TensorSpec& spec = signature_.inputs[*place];
    if (spec.batched || spec.dims.size() < 2 || spec.optional) {
      wrong(
          fmt::format("'{}[N]': wanted a tensor that is always there, without batch axes, and with "
                      "two axes or more",
                      tensor));
    }
    return {{"input", *place}, {"slices", true}};
  }

  Json named(const std::string& word) const {
    if (const auto place = input(word)) return {{"input", *place}};
    if (const auto place = scalar(word)) return {{"scalar", *place}};
    for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
      const TensorSpec& spec = signature_.inputs[i];
      const auto found = std::ranges::find(spec.dims, word);
      if (spec.optional || found == spec.dims.end()) continue;
      return {{"dimension", {i, found - spec.dims.end()}}};  // counted from the last axis: -1
    }
    unknown(word);
  }

  std::optional<std::size_t> input(const std::string& word) const {
    return place(signature_.inputs, word);
  }
  std::optional<std::size_t> scalar(const std::string& word) const {
    return place(signature_.scalars, word);
  }
  template <class Spec>
  static std::optional<std::size_t> place(const std::vector<Spec>& specs, const std::string& word) {
    const auto found = std::ranges::find(specs, word, &Spec::name);
    if (found == specs.end()) return std::nullopt;
    return static_cast<std::size_t>(found - specs.begin());
  }

  [[noreturn]] void unknown(const std::string& word) const {
    std::vector<std::string> names;
    for (const TensorSpec& spec : signature_.inputs) {
      names.push_back(spec.name);
      names.insert(names.end(), spec.dims.begin(), spec.dims.end());
    }
    for (const ScalarSpec& spec : signature_.scalars) names.push_back(spec.name);
    wrong(fmt::format("'{}' is not in the signature {}{}", word, signature_.text,
                      did_you_mean(word, names)));
  }

  std::string where_;
  const Signature& signature_;
};

Adapters::Adapters(const fs::path& file, const std::map<std::string, std::string>& signatures) {
  if (!fs::exists(file)) {
    throw std::invalid_argument(fs::absolute(file).string() +
                                ": no such file; the rubric asks for it (adapters) in its folder");
  }
  const toml::table table = read_toml(file);
  Json json = Json::object();
  for (const auto& [problem, node, at] : in_order(table)) {
    const auto found = signatures.find(problem);
    if (!node->is_table()) {
      throw std::invalid_argument(
          fmt::format("{}: {} stands outside of a problem", file.string(), problem));
    }
    if (found == signatures.end()) continue;
    const Signature signature = parse_signature(found->second);
    FunctionReader reader(file, problem, signature);
    json[problem] = reader.read(*node->as_table());
    functions_[problem] = std::move(reader.function);
  }
  json_ = json.dump();
}

std::string Adapters::function(const std::string& problem) const {
  const auto found = functions_.find(problem);
  return found == functions_.end() ? "" : found->second.name;
}

void Adapters::give(const std::string& problem, LoadedCase& loaded) const {
  const auto found = functions_.find(problem);
  if (found == functions_.end()) return;
  const Function& function = found->second;
  if (!function.absent.empty() && selects(function.absent, loaded.info.name)) return;
  for (const Counted& counted : function.counted) {
    if (loaded.inputs.at(counted.input)) continue;
    Shape shape{loaded.info.binding.sizes.at(counted.size)};
    if (!loaded.info.binding.batch.empty()) shape.insert(shape.begin(), 1);
    Tensor numbers(DType::int64, std::move(shape));
    for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, static_cast<double>(i));
    loaded.info.inputs[counted.input] = InputInfo{{numbers.dtype, numbers.shape}, ""};
    loaded.inputs[counted.input] = std::move(numbers);
  }
}

std::string Adapters::cannot_ask(const std::string& problem, const Case& info) const {
  const auto found = functions_.find(problem);
  if (found == functions_.end()) return "";
  const Function& function = found->second;
  for (const Only& only : function.only) {
    const Scalar& given = info.scalars.at(only.scalar);
    if (given == only.value) continue;
    return fmt::format("{} has no argument for {}, which is {} here and not {}", function.name,
                       only.name, to_text(given), to_text(only.value));
  }
  for (const Blocks& blocks : function.blocks) {
    const std::optional<InputInfo>& input = info.inputs.at(blocks.input);
    const auto* count = std::get_if<std::int64_t>(&info.scalars.at(blocks.scalar));
    if (!input || count == nullptr) continue;
    const std::int64_t rows = input->type.shape.at(0);
    if (*count > 0 && rows % *count == 0) continue;
    return fmt::format("{} takes its weights in blocks, and {} rows do not split into {}",
                       function.name, rows, *count);
  }
  return "";
}

}  // namespace prenorm::harness
