// Pictures as SVG, one element after the other.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

class Svg {
 public:
  /// Texts are escaped, numbers written with up to six digits.
  struct Attribute {
    Attribute(std::string_view name, std::string_view value);
    Attribute(std::string_view name, double value);

    std::string_view name;
    std::string value;
  };
  using Attributes = std::initializer_list<Attribute>;

  /// An element that is empty or holds a text.
  void add(std::string_view element, Attributes attributes, std::string_view text = {});
  /// What is added until close() belongs to the element.
  void open(std::string_view element, Attributes attributes);
  void close();

  /// Rules for the whole page that holds the picture; not escaped.
  void style(std::string_view css);
  /// All elements of another picture.
  void add(const Svg& other);

  void label(double x, double y, std::string_view text, Attributes more = {});

  /// The whole picture.
  std::string picture(double width, double height, Attributes attributes) const;

 private:
  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace prenorm::harness
