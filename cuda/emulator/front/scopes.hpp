// Which braces are open while the tokens of a source are passed one after the other.
#pragma once

#include "tokens.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace prenorm::emulator::front {

class Scopes {
 public:
  enum class Kind { names, type, function };  // of namespaces; members; statements

  void pass(const std::vector<Token>& tokens, std::size_t i) {
    const Token& token = tokens[i];
    if (token.is("{")) open_.push_back(kind(tokens, i));
    if (token.is("}") && !open_.empty()) open_.pop_back();
    if (token.is(";") || token.is("{") || token.is("}")) statement_ = i + 1;
  }
  /// Where the statement or declaration begins that is being passed.
  std::size_t statement() const { return statement_; }
  bool in_function() const { return in(Kind::function); }
  bool in_type() const { return in(Kind::type); }
  /// Neither outside of functions nor in braces inside of one.
  bool at_top_of_function() const { return std::ranges::count(open_, Kind::function) == 1; }

 private:
  bool in(Kind kind) const { return std::ranges::find(open_, kind) != open_.end(); }
  Kind kind(const std::vector<Token>& tokens, std::size_t brace) const {
    bool in_namespace = false, in_type = false, parenthesis = false;
    for (std::size_t i = statement_; i < brace; ++i) {
      const Token& each = tokens[i];
      in_namespace |= each.is("namespace") || each.text.starts_with("\"C");
      in_type |= each.is("class") || each.is("struct") || each.is("union") || each.is("enum");
      parenthesis |= each.is("(");
    }
    if (in_namespace) return Kind::names;
    return in_type && !parenthesis ? Kind::type : Kind::function;
  }

  std::vector<Kind> open_;
  std::size_t statement_ = 0;
};

inline bool is_opening(const Token& each) { return each.is("(") || each.is("[") || each.is("{"); }
inline bool is_closing(const Token& each) { return each.is(")") || each.is("]") || each.is("}"); }

/// The bracket that closes the one at `open`.
inline std::size_t closing(const std::vector<Token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (is_opening(tokens[i])) ++depth;
    if (is_closing(tokens[i]) && --depth == 0) return i;
  }
  throw Refused(tokens[std::min(open, tokens.size() - 1)].at,
                "an unclosed bracket is not emulated");
}

/// The last token of template arguments that begin there; `end` if none before that is.
inline std::size_t end_of_arguments(const std::vector<Token>& tokens, std::size_t open,
                                    std::size_t end) {
  int depth = 0;
  for (std::size_t i = open; i < end; ++i) {
    if (tokens[i].is("<")) ++depth;
    if (tokens[i].is(">")) --depth;
    if (tokens[i].is(">>")) depth -= 2;
    if (depth <= 0) return i;
  }
  return end;
}

}  // namespace prenorm::emulator::front
