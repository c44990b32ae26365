#include "fixture_check.hpp"

#include "draw.hpp"
#include "fixture_object.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

namespace prenorm::harness {
namespace {

constexpr std::int64_t version = 1;

/// [a-z0-9_]+
bool is_case_name(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// [a-z][a-z0-9_]*
bool is_problem_name(const std::string& text) {
  return is_case_name(text) && text[0] >= 'a' && text[0] <= 'z';
}

template <class Spec>
std::vector<std::string> names_of(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  for (const Spec& spec : specs) names.push_back(spec.name);
  return names;
}

/// Checks one case and gathers what it says.
class CaseReader {
 public:
  CaseReader(const Object& object, const Signature& signature, const ReadLimits& limits,
             const Requirements& requirements)
      : object_(object),
        signature_(signature),
        bytes_left_(limits.bytes),
        limits_(limits),
        requirements_(requirements) {}

  Case read() {
    case_.name = object_.node().name;
    if (!is_case_name(case_.name)) object_.fail("a case's name must match [a-z0-9_]+");
    if (!object_.node().is_group) object_.fail("is a dataset, wanted a group: a case");
    read_attributes();
    object_.allow_members({"inputs", "outputs"});
    read_inputs();
    if (case_.error) {
      check_error_case();
    } else {
      read_outputs();
    }
    check_redrawn_sizes();
    return std::move(case_);
  }

 private:
  void read_attributes() {
    std::vector<std::string> known = {"description", "dims", "error"};
    for (const ScalarSpec& spec : signature_.scalars) {
      known.push_back(spec.name);
      if (object_.has(spec.name) || !spec.default_value) {
        case_.scalars.push_back(object_.scalar(spec.name, spec.kind));
      } else {
        case_.scalars.push_back(*spec.default_value);
      }
    }
    object_.allow_attributes(known);
    case_.description = object_.text_or_empty("description");
    if (object_.has("error")) case_.error = object_.text("error");
    if (object_.has("dims")) case_.redrawn_sizes = object_.words("dims");
  }

  /// Takes the tensor's bytes off what the case may have.
  void claim(const Object& object, DType dtype, const Shape& shape) {
    const auto bytes = checked_bytes(dtype, shape, bytes_left_);
    if (!bytes) {
      object.fail("claims a " + std::string(name(dtype)) + " tensor of shape " + to_text(shape) +
                  ": the case is beyond the memory limit of " + std::to_string(limits_.bytes) +
                  " bytes");
    }
    bytes_left_ -= *bytes;
  }

  void read_inputs() {
    const Object group = object_.group("inputs");
    group.allow_members(names_of(signature_.inputs));
    std::vector<std::optional<TensorType>> types;
    for (const TensorSpec& spec : signature_.inputs) {
      if (group.node().child(spec.name) == nullptr) {
        if (!spec.optional) group.fail("the input " + spec.name + " is missing");
        types.emplace_back();
        case_.inputs.emplace_back();
        continue;
      }
      const Object dataset = group.dataset(spec.name);
      const Node& node = dataset.node();
      claim(dataset, node.dtype, node.shape);
      types.push_back(TensorType{node.dtype, node.shape});
      case_.inputs.push_back(InputInfo{*types.back(), dataset.text_or_empty("draw")});
    }
    try {
      case_.binding = harness::bind(signature_, types);
      output_types_ = output_types(signature_, case_.binding);
    } catch (const SignatureError& error) {
      group.fail(error.what());
    }
    for (const TensorType& type : output_types_) claim(object_, type.dtype, type.shape);
    check_draws(group);
  }

  void check_draws(const Object& group) const {
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
      if (!case_.inputs[i] || case_.inputs[i]->draw.empty()) continue;
      const Object dataset = group.dataset(signature_.inputs[i].name);
      try {
        check_draw(dataset, parse_draw(case_.inputs[i]->draw), case_.inputs[i]->type);
      } catch (const SignatureError& error) {
        dataset.fail("attribute draw: " + std::string(error.what()));
      }
    }
  }

  void check_draw(const Object& dataset, const Draw& how, const TensorType& type) const {
    const bool continuous = how.kind == Draw::Kind::normal || how.kind == Draw::Kind::uniform;
    if (continuous && !is_floating(type.dtype)) {
      dataset.fail_attribute("draw", "wants a floating type, not " + std::string(name(type.dtype)));
    }
    if (how.kind == Draw::Kind::permutation && type.shape.empty()) {
      dataset.fail_attribute("draw", "is permutation, but the tensor has no axis");
    }
    for (const std::string& bound : {how.first, how.second}) {
      const bool is_name =
          !bound.empty() && (std::isalpha(static_cast<unsigned char>(bound[0])) || bound[0] == '_');
      if (is_name && !case_.binding.sizes.contains(bound) && !is_scalar(bound)) {
        dataset.fail_attribute(
            "draw", "has the bound " + bound + ", which is no number, dimension or scalar");
      }
    }
  }

  bool is_scalar(const std::string& name) const {
    return std::ranges::find(signature_.scalars, name, &ScalarSpec::name) !=
           signature_.scalars.end();
  }

  void check_error_case() const {
    if (const Node* outputs = object_.node().child("outputs")) {
      object_.child(*outputs).fail("a case with the attribute error has no outputs");
    }
  }

  void read_outputs() {
    const Object group = object_.group("outputs");
    group.allow_members(names_of(signature_.outputs));
    for (std::size_t i = 0; i < signature_.outputs.size(); ++i) {
      const Object dataset = group.dataset(signature_.outputs[i].name);
      case_.outputs.push_back(read_output(dataset, output_types_[i]));
    }
  }

  OutputInfo read_output(const Object& dataset, const TensorType& type) {
    const Node& node = dataset.node();
    if (node.dtype != DType::float64) {
      dataset.fail("element type is " + std::string(name(node.dtype)) +
                   ", wanted float64: expected values are stored exactly");
    }
    if (node.shape != type.shape) {
      dataset.fail("has shape " + to_text(node.shape) + ", wanted " + to_text(type.shape) +
                   " by the signature");
    }
    claim(dataset, node.dtype, node.shape);
    OutputInfo output;
    output.shape = node.shape;
    output.dtype = output_dtype(dataset, type.dtype);
    output.tolerance = tolerance(dataset, "", requirements_.tolerances);
    output.tolerance_tf32 = tolerance(dataset, "_tf32", false);
    output.reason = dataset.text_or_empty("reason");
    return output;
  }

  static DType output_dtype(const Object& dataset, DType wanted) {
    const std::string text = dataset.text("dtype");
    const std::optional<DType> dtype = parse_dtype(text);
    if (!dtype) dataset.fail_attribute("dtype", "is '" + text + "', which is no element type");
    if (*dtype != wanted) {
      dataset.fail_attribute(
          "dtype", "is " + text + ", wanted " + std::string(name(wanted)) + " by the signature");
    }
    return *dtype;
  }

  static std::optional<Tolerance> tolerance(const Object& dataset, const std::string& suffix,
                                            bool required) {
    const std::string atol = "atol" + suffix, rtol = "rtol" + suffix;
    if (!required && !dataset.has(atol) && !dataset.has(rtol)) return std::nullopt;
    return Tolerance{bound(dataset, atol), bound(dataset, rtol)};
  }

  static double bound(const Object& dataset, const std::string& name) {
    const double value = std::get<double>(dataset.scalar(name, ScalarKind::floating));
    if (!std::isfinite(value) || value < 0) {
      dataset.fail_attribute(
          name, "is " + number_text(value) + ", wanted a finite number that is not negative");
    }
    return value;
  }

  void check_redrawn_sizes() const {
    for (const std::string& name : case_.redrawn_sizes) {
      if (!case_.binding.sizes.contains(name)) {
        object_.fail_attribute("dims", "names '" + name + "', which is no dimension of the case");
      }
    }
  }

  const Object object_;
  const Signature& signature_;
  std::size_t bytes_left_;
  const ReadLimits& limits_;
  const Requirements& requirements_;
  Case case_;
  std::vector<TensorType> output_types_;
};

/// Scalars are attributes of a case, and so must not be called like its other attributes.
void check_scalar_names(const Object& root, const Signature& signature) {
  for (const ScalarSpec& spec : signature.scalars) {
    if (spec.name == "description" || spec.name == "dims" || spec.name == "error") {
      root.fail_attribute("signature", "has a scalar called '" + spec.name +
                                           "', the name of an attribute of a case");
    }
  }
}

void read_head(const Object& root, FixtureContents& contents) {
  const std::string format = root.text("format");
  if (format != "prenorm-fixture") {
    root.fail_attribute("format", "is '" + format + "', wanted 'prenorm-fixture'");
  }
  const auto found = std::get<std::int64_t>(root.scalar("version", ScalarKind::integer));
  if (found != version) {
    root.fail_attribute("version",
                        "is " + std::to_string(found) + ", wanted " + std::to_string(version));
  }
  contents.problem = root.text("problem");
  if (!is_problem_name(contents.problem)) {
    root.fail_attribute("problem", "is '" + contents.problem +
                                       "', which does not match "
                                       "[a-z][a-z0-9_]*");
  }
  contents.signature_text = root.text("signature");
  try {
    contents.signature = parse_signature(contents.signature_text);
  } catch (const SignatureError& error) {
    root.fail("attribute signature: " + std::string(error.what()));
  }
  check_scalar_names(root, contents.signature);
  contents.source = root.text_or_empty("source");
  contents.oracle = root.text_or_empty("oracle");
}

}  // namespace

std::int64_t Case::elements() const {
  std::int64_t count = 0;
  for (const auto& input : inputs) {
    if (input) count += element_count(input->type.shape);
  }
  for (const OutputInfo& output : outputs) count += element_count(output.shape);
  return count;
}

FixtureContents check_fixture(const Node& node, const ReadLimits& limits,
                              const Requirements& requirements) {
  const Object root(node, "/");
  FixtureContents contents;
  read_head(root, contents);
  root.allow_members({"cases"});
  const Object cases = root.group("cases");
  for (const Node& child : cases.node().children) {
    contents.cases.push_back(
        CaseReader(cases.child(child), contents.signature, limits, requirements).read());
  }
  std::ranges::sort(contents.cases, {}, &Case::name);
  return contents;
}

std::optional<std::string> problem_of(const Node& root) {
  try {
    const std::string problem = Object(root, "/").text("problem");
    if (is_problem_name(problem)) return problem;
  } catch (const ObjectError&) {  // then nobody knows
  }
  return std::nullopt;
}

OutputsFile list_outputs(const Node& node, const ReadLimits& limits) {
  const Object root(node, "/");
  OutputsFile file;
  file.problem = root.text_or_empty("problem");
  root.allow_members({"cases"});
  const Object cases = root.group("cases");
  std::size_t bytes_left = limits.bytes;
  for (const Node& child : cases.node().children) {
    const Object one_case = cases.child(child);
    if (!child.is_group) one_case.fail("is a dataset, wanted a group: a case");
    one_case.allow_members({"inputs", "outputs"});
    if (child.child("outputs") == nullptr) continue;
    const Object outputs = one_case.group("outputs");
    for (const Node& tensor : outputs.node().children) {
      const Object dataset = outputs.dataset(tensor.name);
      const auto bytes = checked_bytes(tensor.dtype, tensor.shape, bytes_left);
      if (!bytes) dataset.fail("the file is beyond the memory limit");
      bytes_left -= *bytes;
      OutputsFile::Entry entry{child.name, tensor.name, {}};
      entry.value.dtype = tensor.dtype;
      entry.value.shape = tensor.shape;
      file.entries.push_back(std::move(entry));
    }
  }
  std::ranges::sort(file.entries, {}, [](const OutputsFile::Entry& entry) {
    return std::tie(entry.case_name, entry.tensor);
  });
  return file;
}

void check_bools(const std::string& object, const Tensor& tensor) {
  if (tensor.dtype != DType::boolean) return;
  const auto wrong =
      std::ranges::find_if(tensor.data, [](std::byte b) { return b > std::byte{1}; });
  if (wrong == tensor.data.end()) return;
  throw ObjectError(object, "element " +
                                to_text(index_of(wrong - tensor.data.begin(), tensor.shape)) +
                                " holds " + std::to_string(std::to_integer<int>(*wrong)) +
                                ", wanted 0 or 1: a bool");
}

}  // namespace prenorm::harness
