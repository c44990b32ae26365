// One object of a catalogue with its path, and its attributes as what they should be.
#pragma once

#include "fixture_check.hpp"

namespace prenorm::harness {

/// A node and where it stands. Every error names it.
class Object {
 public:
  Object(const Node& node, std::string path) : node_(node), path_(std::move(path)) {}

  const Node& node() const { return node_; }
  const std::string& path() const { return path_; }

  [[noreturn]] void fail(const std::string& why) const { throw ObjectError(path_, why); }
  [[noreturn]] void fail_attribute(const std::string& name, const std::string& why) const {
    fail("attribute " + name + " " + why);
  }

  bool has(const std::string& name) const { return node_.attribute(name) != nullptr; }

  /// A text attribute: one text, in UTF-8, without control characters but tab and newline.
  std::string text(const std::string& name) const;
  /// The same; empty where it is absent.
  std::string text_or_empty(const std::string& name) const {
    return has(name) ? text(name) : std::string();
  }
  /// Words: a list of texts, or one text with commas or spaces between them.
  std::vector<std::string> words(const std::string& name) const;
  /// A scalar of that kind, which the stored number must convert to exactly.
  Scalar scalar(const std::string& name, ScalarKind kind) const;

  /// A group or dataset in this group; fails where it is absent or of the other kind.
  Object group(const std::string& name) const { return member(name, true); }
  Object dataset(const std::string& name) const { return member(name, false); }
  Object child(const Node& node) const;

  /// Refuses members and attributes of other names.
  void allow_members(const std::vector<std::string>& names) const;
  void allow_attributes(const std::vector<std::string>& names) const;

 private:
  const Attribute& attribute(const std::string& name) const;
  Object member(const std::string& name, bool group) const;

  const Node& node_;
  std::string path_;
};

/// "a, b and c"; "nothing" for an empty list.
std::string list_text(const std::vector<std::string>& names);

/// As few digits as tell the number from every other: "0.1", "1e+19", "inf".
std::string number_text(double value);

}  // namespace prenorm::harness
