#include "merge.hpp"

#include "scopes.hpp"

#include <string>
#include <tuple>
#include <utility>

namespace prenorm::emulator::front {
namespace {

using Tokens = std::vector<Token>;
using Index = std::size_t;

bool same(const Token& a, const Token& b) {
  return a.text == b.text && a.at.line == b.at.line && a.at.file == b.at.file;
}

class Merger {
 public:
  Merger(const Tokens& device, const Tokens& host) : device_(device), host_(host) {}

  Tokens run() {
    while (d_ < device_.size() && h_ < host_.size()) {
      const bool bodies = device_[d_].is("{") && host_[h_].is("{") && !scopes_.in_function();
      if (bodies) begin_body();
      if (bodies || same(device_[d_], host_[h_])) {
        put(device_, d_, d_ + 1);
        ++d_, ++h_;
      } else if (scopes_.in_function()) {
        put_bodies();
      } else {
        const auto [d, h] = after_difference();
        put_declarations(d, h);
        std::tie(d_, h_) = std::pair(d, h);
      }
    }
    return std::move(result_);
  }

 private:
  struct Function {
    Index declaration = 0, brace = 0;  // in the result
    Index d = 0, h = 0;                // the brace in each source
  };

  void begin_body() {
    function_ = {scopes_.statement(), result_.size(), d_, h_};
    outside_ = scopes_;
  }

  /// A declaration, to the end of its body if it has one.
  struct Declaration {
    Index begin, brace, end;  // brace: its body's, or `end`
    std::string text;         // of all before the body
    std::string_view name;
  };
  static std::vector<Declaration> declarations(const Tokens& source, Index begin, Index end) {
    std::vector<Declaration> all;
    while (begin < end) {
      Declaration one{begin, begin, begin, "", ""};
      bool named = false;
      for (; one.brace < end && !source[one.brace].is("{") && !source[one.brace].is(";");
           ++one.brace) {
        const Token& each = source[one.brace];
        named |= each.is("(") || each.is("=") || each.is("[");
        if (!named && each.is_word()) one.name = each.text;
        one.text += each.text + " ";
      }
      if (one.brace == end) return {};
      const bool body = source[one.brace].is("{");
      one.end = (body ? closing(source, one.brace) : one.brace) + 1;
      if (one.end > end) return {};
      if (!body) one.brace = one.end;
      all.push_back(one);
      begin = one.end;
    }
    return all;
  }

  /// What one of them has up to these places, and the other has not. A function that both declare
  /// in the same words is one.
  void put_declarations(Index d_end, Index h_end) {
    const auto of_device = declarations(device_, d_, d_end),
               of_host = declarations(host_, h_, h_end);
    const bool whole =
        scopes_.statement() == result_.size() && !of_device.empty() && !of_host.empty();
    if (!whole) return d_ < d_end ? put(device_, d_, d_end) : put(host_, h_, h_end);
    for (const Declaration& each : of_device) {
      const auto other = std::ranges::find(of_host, each.text, &Declaration::text);
      if (other == of_host.end() || each.brace == each.end || other->brace == other->end) {
        put(device_, each.begin, each.end);
        continue;
      }
      put(device_, each.begin, each.brace);
      d_ = each.brace, h_ = other->brace;
      begin_body();
      put(device_, d_, d_ + 1);
      put_bodies();
    }
    for (const Declaration& each : of_host) {
      const auto other = std::ranges::find(of_device, each.name, &Declaration::name);
      if (other == of_device.end()) put(host_, each.begin, each.end);
    }
  }

  /// The function whose body is not the same for both, from behind its brace to the one that closes
  /// it.
  void put_bodies() {
    const Index d_end = closing(device_, function_.d), h_end = closing(host_, function_.h);
    result_.resize(function_.brace + 1);
    scopes_ = outside_;
    scopes_.pass(result_, function_.brace);
    const auto has = [&](std::string_view word) {  // the declaration
      for (Index i = function_.declaration; i < function_.brace; ++i) {
        if (result_[i].is(word)) return true;
      }
      return false;
    };
    // Behind a constructor's member{...} stands a body without a declaration.
    const bool unknown = function_.declaration == function_.brace;
    bool for_device = unknown || has("__device__") || has("__global__");
    const bool for_host = unknown || !for_device || has("__host__");
    for (Index i = function_.d; i < d_end; ++i)
      for_device |= device_[i].is("__device__");  // lambda
    const bool both = for_device && for_host;
    if (both) put("if (::prenorm::emulator::on_device()) {");
    if (for_device) put(device_, function_.d + 1, d_end);
    if (both) put("} else {");
    if (for_host) put(host_, function_.h + 1, h_end);
    if (both) put("}");
    put(device_, d_end, d_end + 1);
    d_ = d_end + 1, h_ = h_end + 1;
  }

  /// Where the sources agree again, the fewest tokens further; their ends, if not before long.
  std::pair<Index, Index> after_difference() const {
    const Index d_rest = device_.size() - d_, h_rest = host_.size() - h_;
    const Index most = std::min<Index>(d_rest + h_rest, 1 << 14);
    for (Index both = 1; both < most; ++both) {
      for (Index d = both < h_rest ? 0 : both - h_rest + 1; d <= both && d < d_rest; ++d) {
        if (same(device_[d_ + d], host_[h_ + both - d])) return {d_ + d, h_ + both - d};
      }
    }
    return {device_.size(), host_.size()};
  }

  void put(const Tokens& source, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      Token token = source[i];
      if (&source != source_ || i != next_) {
        token.before = "\n# " + std::to_string(token.at.line) + " \"" + std::string(token.at.file) +
                       (token.system ? "\" 3\n" : "\"\n");
      }
      source_ = &source;
      next_ = i + 1;
      result_.push_back(std::move(token));
      scopes_.pass(result_, result_.size() - 1);
    }
  }
  void put(std::string_view text) {
    for (Token& token : tokenize(text)) {
      result_.push_back(std::move(token));
      scopes_.pass(result_, result_.size() - 1);
    }
  }

  const Tokens &device_, &host_;
  Index d_ = 0, h_ = 0;  // what comes next
  Tokens result_;
  Scopes scopes_, outside_;
  Function function_;               // that scopes_ are in, if any
  const Tokens* source_ = nullptr;  // where the last token is from
  Index next_ = 0;                  // the one that follows it there
};

}  // namespace

std::vector<Token> merge(const std::vector<Token>& device, const std::vector<Token>& host) {
  return Merger(device, host).run();
}

}  // namespace prenorm::emulator::front
