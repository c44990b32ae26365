// The tokens of a preprocessed source: enough of C++'s to find launches and declarations.
#pragma once

#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::emulator::front {

/// "kernel.cu:12"
struct Place {
  std::string_view file;  // in the text
  int line = 0;
};

struct Token {
  std::string before;  // white space, lines of the preprocessor
  std::string text;
  Place at;
  bool system = false;

  bool is(std::string_view what) const { return text == what; }
  bool is_word() const {
    return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_');
  }
  /// A word that may be a kernel's name or what it is looked up in.
  bool is_name() const {
    return is_word() && text != "return" && text != "else" && text != "do" && text != "case" &&
           text != "throw" && text != "template";
  }
};

/// A message, which begins with its place.
struct Refused : std::runtime_error {
  Refused(const Place& place, const std::string& what)
      : std::runtime_error(std::string(place.file) + ":" + std::to_string(place.line) + ": " +
                           what) {}
};
/// What the emulator lacks is used.
inline Refused not_emulated(const Place& place, const std::string& what) {
  return {place, what + " is not emulated"};
}

/// Whether a header is the toolkit's, or of a library that comes with it, by its name.
bool is_of_toolkit(std::string_view path);

/// The whole text: all `before` and `text` one after the other. The last token has no text.
std::vector<Token> tokenize(std::string_view text);

}  // namespace prenorm::emulator::front
