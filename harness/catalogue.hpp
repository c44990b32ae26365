// What the HDF5 child says of a file: its groups, datasets and attributes, without the datasets'
// values. The same frame tells the child what to write.
//
// The parent takes the child's bytes with suspicion: a crafted file may have taken the child over.
//
//     frame      = "prenorm1" node
//     node       = kind:u8 (0 group, 1 dataset) name:text attributes:u32 attribute* rest
//     rest       = of a group: children:u32 node*;  of a dataset: dtype:u8 rank:u8 extent:i64*
//     attribute  = name:text kind:u8 value
//     value      = 0 unusable: text;  1 integer: i64;  2 float: f64;  3 bool: u8;
//                  4 texts: count:u32 text*
//     text       = length:u32 byte*
//
// Numbers are in the machine's own byte order: both ends run on it.
#pragma once

#include "tensor.hpp"

#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace prenorm::harness {

/// The value is of a type that no attribute of ours has; says which: "an object reference".
struct Unusable {
  std::string what;
  bool operator==(const Unusable&) const = default;
};

struct Attribute {
  std::string name;
  std::variant<Unusable, std::int64_t, double, bool, std::vector<std::string>> value;
  bool operator==(const Attribute&) const = default;
};

/// A group or a dataset.
struct Node {
  std::string name;  // the root's is empty
  bool is_group = true;
  std::vector<Attribute> attributes;
  std::vector<Node> children;    // of a group
  DType dtype = DType::float64;  // of a dataset; boolean also where uint8 may mean it
  Shape shape;

  const Attribute* attribute(std::string_view name) const;
  const Node* child(std::string_view name) const;
  bool operator==(const Node&) const = default;
};

/// The bytes are no catalogue.
struct CatalogueError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The largest frame that either side accepts.
constexpr std::size_t most_catalogue_bytes = 16u << 20;
/// HDF5's own limit.
constexpr std::size_t most_axes = 32;
/// Groups in groups: root, cases, a case, inputs, and what should not be there.
constexpr int most_depth = 8;

std::vector<std::byte> encode(const Node& root);

/// Decodes a frame; throws CatalogueError. Takes no more memory than a small multiple of the
/// frame's size, whatever the frame claims.
Node decode(std::span<const std::byte> frame);

/// Bytes that the elements of such a tensor take; nothing where that is beyond `most`. An axis of
/// size 0 counts as 1, so that no product of extents of an accepted shape overflows.
std::optional<std::size_t> checked_bytes(DType dtype, const Shape& shape, std::size_t most);

}  // namespace prenorm::harness
