#include "catalogue.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

namespace prenorm::harness {
namespace {

constexpr std::string_view magic = "prenorm1";

class Encoder {
 public:
  explicit Encoder(const Node& root) {
    append(magic.data(), magic.size());
    node(root);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + size);
    std::copy_n(static_cast<const std::byte*>(data), size, bytes_.data() + before);
  }
  template <class Number>
  void number(Number value) {
    append(&value, sizeof value);
  }
  void count(std::size_t value) { number(static_cast<std::uint32_t>(value)); }
  void text(std::string_view value) {
    count(value.size());
    append(value.data(), value.size());
  }

  void node(const Node& node) {
    number(static_cast<std::uint8_t>(node.is_group ? 0 : 1));
    text(node.name);
    count(node.attributes.size());
    for (const Attribute& attribute : node.attributes) this->attribute(attribute);
    if (node.is_group) {
      count(node.children.size());
      for (const Node& child : node.children) this->node(child);
    } else {
      number(static_cast<std::uint8_t>(node.dtype));
      number(static_cast<std::uint8_t>(node.shape.size()));
      for (const std::int64_t extent : node.shape) number(extent);
    }
  }

  void attribute(const Attribute& attribute) {
    text(attribute.name);
    number(static_cast<std::uint8_t>(attribute.value.index()));
    std::visit([this](const auto& value) { this->value(value); }, attribute.value);
  }
  void value(const Unusable& value) { text(value.what); }
  void value(std::int64_t value) { number(value); }
  void value(double value) { number(value); }
  void value(bool value) { number(static_cast<std::uint8_t>(value)); }
  void value(const std::vector<std::string>& values) {
    count(values.size());
    for (const std::string& each : values) text(each);
  }

  std::vector<std::byte> bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> frame) : rest_(frame) {}

  Node decode() {
    const auto start = take(magic.size());
    if (std::memcmp(start.data(), magic.data(), magic.size()) != 0) fail("another beginning");
    Node root = node(0);
    if (!root.is_group || !root.name.empty()) fail("the root is no group");
    if (!rest_.empty()) fail("bytes behind the end");
    return root;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw CatalogueError("no catalogue: " + what);
  }

  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size()) fail("it ends too soon");
    const auto part = rest_.first(size);
    rest_ = rest_.subspan(size);
    return part;
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<std::uint32_t>();
    const auto part = take(size);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

  // Lists grow as their parts arrive: a claimed count alone takes no memory.
  Node node(int depth) {
    if (depth > most_depth) fail("groups too deep");
    Node node;
    const auto kind = number<std::uint8_t>();
    if (kind > 1) fail("an unknown kind of object");
    node.is_group = kind == 0;
    node.name = text();
    if (depth > 0 && (node.name.empty() || node.name.find('/') != std::string::npos)) {
      fail("an object without a proper name");
    }
    attributes(node);
    if (node.is_group) {
      children(node, depth);
    } else {
      tensor(node);
    }
    return node;
  }

  void attributes(Node& node) {
    std::set<std::string> names;
    for (auto left = number<std::uint32_t>(); left > 0; --left) {
      node.attributes.push_back(attribute());
      if (!names.insert(node.attributes.back().name).second) fail("an attribute twice");
    }
  }

  void children(Node& node, int depth) {
    std::set<std::string> names;
    for (auto left = number<std::uint32_t>(); left > 0; --left) {
      node.children.push_back(this->node(depth + 1));
      if (!names.insert(node.children.back().name).second) fail("a name twice");
    }
  }

  void tensor(Node& node) {
    const auto dtype = number<std::uint8_t>();
    if (dtype > static_cast<std::uint8_t>(DType::boolean)) fail("an unknown element type");
    node.dtype = static_cast<DType>(dtype);
    const auto rank = number<std::uint8_t>();
    if (rank > most_axes) fail("too many axes");
    for (std::uint8_t axis = 0; axis < rank; ++axis) {
      const auto extent = number<std::int64_t>();
      if (extent < 0) fail("a negative extent");
      node.shape.push_back(extent);
    }
  }

  Attribute attribute() {
    Attribute attribute;
    attribute.name = text();
    switch (number<std::uint8_t>()) {
      case 0: attribute.value = Unusable{text()}; break;
      case 1: attribute.value = number<std::int64_t>(); break;
      case 2: attribute.value = number<double>(); break;
      case 3: attribute.value = number<std::uint8_t>() != 0; break;
      case 4: attribute.value = texts(); break;
      default: fail("an unknown kind of attribute");
    }
    return attribute;
  }

  std::vector<std::string> texts() {
    std::vector<std::string> values;
    for (auto left = number<std::uint32_t>(); left > 0; --left) values.push_back(text());
    return values;
  }

  std::span<const std::byte> rest_;
};

template <class Named>
const Named* find(const std::vector<Named>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Named::name);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

const Attribute* Node::attribute(std::string_view wanted) const { return find(attributes, wanted); }
const Node* Node::child(std::string_view wanted) const { return find(children, wanted); }

std::vector<std::byte> encode(const Node& root) { return Encoder(root).take(); }

Node decode(std::span<const std::byte> frame) {
  if (frame.size() > most_catalogue_bytes) throw CatalogueError("no catalogue: it is too long");
  return Decoder(frame).decode();
}

std::optional<std::size_t> checked_bytes(DType dtype, const Shape& shape, std::size_t most) {
  std::size_t bytes = size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (extent > 0 && __builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) {
      return std::nullopt;
    }
  }
  if (bytes > most) return std::nullopt;
  return element_count(shape) == 0 ? 0 : bytes;
}

}  // namespace prenorm::harness
