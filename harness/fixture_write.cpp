// Fixture and outputs files, put together here and written by the HDF5 child.
#include "fixture_check.hpp"
#include "fixture_child.hpp"

#include <algorithm>
#include <limits>

namespace prenorm::harness {
namespace {

Attribute text_attribute(const std::string& name, const std::string& text) {
  return {name, std::vector{text}};
}

void add_text(Node& node, const std::string& name, const std::string& text) {
  if (!text.empty()) node.attributes.push_back(text_attribute(name, text));
}

Attribute scalar_attribute(const std::string& name, const Scalar& scalar) {
  return std::visit([&](auto value) { return Attribute{name, value}; }, scalar);
}

Node group(const std::string& name) {
  Node node;
  node.name = name;
  return node;
}

Node dataset(const std::string& name, const Tensor& tensor) {
  Node node;
  node.is_group = false;
  node.name = name;
  node.dtype = tensor.dtype;
  node.shape = tensor.shape;
  return node;
}

/// The member of that name, made where it is missing. Members stay in the order they came in.
Node& member(Node& parent, const std::string& name) {
  const auto found = std::ranges::find(parent.children, name, &Node::name);
  if (found != parent.children.end()) return *found;
  parent.children.push_back(group(name));
  return parent.children.back();
}

void add_tolerance(Node& node, const std::optional<Tolerance>& tolerance,
                   const std::string& suffix) {
  if (!tolerance) return;
  node.attributes.push_back({"atol" + suffix, tolerance->atol});
  node.attributes.push_back({"rtol" + suffix, tolerance->rtol});
}

/// A file in the making: its catalogue, and the tensors in its order.
struct Content {
  Node root = group("");
  std::vector<const Tensor*> tensors;

  void add(Node& parent, Node child, const Tensor& tensor) {
    parent.children.push_back(std::move(child));
    tensors.push_back(&tensor);
  }
};

Node case_attributes(const Case& info, const Signature& signature) {
  Node node = group(info.name);
  add_text(node, "description", info.description);
  std::string sizes;
  for (const std::string& name : info.redrawn_sizes) sizes += (sizes.empty() ? "" : " ") + name;
  add_text(node, "dims", sizes);
  if (info.error) node.attributes.push_back(text_attribute("error", *info.error));
  for (std::size_t i = 0; i < signature.scalars.size(); ++i) {
    node.attributes.push_back(scalar_attribute(signature.scalars[i].name, info.scalars.at(i)));
  }
  return node;
}

void add_case(Content& content, Node& cases, const NewCase& added, const Signature& signature) {
  Node node = case_attributes(added.info, signature);
  Node inputs = group("inputs");
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (!added.inputs.at(i)) continue;
    Node input = dataset(signature.inputs[i].name, *added.inputs[i]);
    add_text(input, "draw", added.info.inputs.at(i)->draw);
    content.add(inputs, std::move(input), *added.inputs[i]);
  }
  node.children.push_back(std::move(inputs));
  if (!added.info.error) {
    Node outputs = group("outputs");
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const OutputInfo& info = added.info.outputs.at(i);
      Node output = dataset(signature.outputs[i].name, added.expected.at(i));
      add_tolerance(output, info.tolerance, "");
      add_tolerance(output, info.tolerance_tf32, "_tf32");
      output.attributes.push_back(text_attribute("dtype", std::string(name(info.dtype))));
      add_text(output, "reason", info.reason);
      content.add(outputs, std::move(output), added.expected[i]);
    }
    node.children.push_back(std::move(outputs));
  }
  cases.children.push_back(std::move(node));
}

}  // namespace

void write_fixture(const std::filesystem::path& path, const std::string& problem,
                   const std::string& signature_text, const std::string& source,
                   const std::string& oracle, std::span<const NewCase> cases) {
  const Signature signature = parse_signature(signature_text);
  Content content;
  Node& root = content.root;
  root.attributes = {text_attribute("format", "prenorm-fixture"),
                     {"version", std::int64_t{1}},
                     text_attribute("problem", problem),
                     text_attribute("signature", signature_text)};
  add_text(root, "source", source);
  add_text(root, "oracle", oracle);
  root.children.push_back(group("cases"));
  for (const NewCase& added : cases) add_case(content, root.children[0], added, signature);
  // What is written here can be read again.
  ReadLimits limits;
  limits.bytes = std::numeric_limits<std::size_t>::max();
  try {
    check_fixture(root, limits, {.tolerances = false});
  } catch (const ObjectError& error) {
    throw std::invalid_argument(path.string() + ": cannot be written: " + error.what());
  }
  write_file(path, root, content.tensors);
}

void write_outputs(const std::filesystem::path& path, const OutputsFile& outputs) {
  Content content;
  Node& root = content.root;
  root.attributes = {text_attribute("format", "prenorm-outputs"), {"version", std::int64_t{1}}};
  add_text(root, "problem", outputs.problem);
  root.children.push_back(group("cases"));
  std::vector<const OutputsFile::Entry*> entries;
  for (const OutputsFile::Entry& entry : outputs.entries) entries.push_back(&entry);
  std::ranges::stable_sort(entries, {}, [](const auto* entry) { return entry->case_name; });
  for (const OutputsFile::Entry* entry : entries) {
    Node& group = member(member(root.children[0], entry->case_name), "outputs");
    content.add(group, dataset(entry->tensor, entry->value), entry->value);
  }
  write_file(path, root, content.tensors);
}

void write_tolerances(const std::filesystem::path& path, std::span<const NewTolerance> tolerances) {
  Node root = group("");
  for (const NewTolerance& each : tolerances) {
    Node& outputs = member(member(member(root, "cases"), each.case_name), "outputs");
    Node& output = member(outputs, each.tensor);
    add_tolerance(output, each.tolerance, "");
    add_tolerance(output, each.tolerance_tf32, "_tf32");
    output.attributes.push_back(text_attribute("reason", each.reason));
  }
  change_attributes(path, root);
}

}  // namespace prenorm::harness
