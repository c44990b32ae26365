// Counts of operations and bytes, written as text in a data file.
#include "bench/workload.hpp"

#include <charconv>
#include <string_view>

namespace prenorm::harness::bench {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// sum = product (+- product)*;  product = factor (*/ factor)*;  factor = number | name | (sum)
class Parser {
 public:
  Parser(const std::string& text, const std::map<std::string, double>& names)
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

  bool accept(char c) {
    if (!peek().starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  double sum() {
    double value = product();
    while (true) {
      if (accept('+')) {
        value += product();
      } else if (accept('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    while (true) {
      if (accept('*')) {
        value *= factor();
      } else if (accept('/')) {
        value /= factor();
      } else {
        return value;
      }
    }
  }

  double factor() {
    if (accept('(')) {
      if (++depth_ > 100) fail("too many parentheses");
      const double value = sum();
      if (!accept(')')) fail("wanted a ')'");
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

}  // namespace

double evaluate(const std::string& text, const std::map<std::string, double>& names) {
  return Parser(text, names).whole();
}

}  // namespace prenorm::harness::bench
