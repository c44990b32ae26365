// CUDA C++ into C++: reads a preprocessed .cu file from standard input and writes what a host
// compiler takes. Six things are not C++ and are rewritten here; the rest of the language is
// macros, types and functions (include/cuda_runtime.h).
//
//   kernel<<<grid, block, shared, stream>>>(arguments)   a call of prenorm::emulator::launch, whose
//                                                        result is called with the arguments where
//                                                        the kernel is one function
//   __shared__ float tile[32][33];                       static thread_local: a block runs on one
//                                                        thread of the machine
//   extern __shared__ float tile[];                      a pointer to the block's dynamic memory
//   __global__ void kernel(...) {                        a call of enter_kernel() in its body
//   __noinline__                                         an attribute
//   cudaLaunchKernel((void*)kernel, ...)                 without the cast
//
// Lines keep their numbers. What the emulator lacks ends with one message, "file:line: word is not
// emulated", and exit code 1.
#include "merge.hpp"
#include "missing.hpp"
#include "scopes.hpp"
#include "sides.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <utility>

namespace prenorm::emulator::front {
namespace {

/// Words that the emulator lacks, and what they belong to. Other names that nobody has declared are
/// the compiler's to find (missing.cpp).
const std::map<std::string_view, std::string_view> missing{
    {"asm", "inline PTX"},    {"__asm__", "inline PTX"},         {"__asm", "inline PTX"},
    {"texture", "a texture"}, {"__cluster_dims__", "a cluster"},
};

class Translator {
 public:
  Translator(std::vector<Token> tokens, bool walls) : tokens_(std::move(tokens)), walls_(walls) {}

  std::string run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token& token = tokens_[at_];
      if (!token.system) refuse_missing();
      scopes_.pass(tokens_, at_);
      if (!scopes_.in_function()) shared_sizes_.clear();
      if (token.is("__global__")) {
        kernel();
      } else if (token.is("__host__")) {
        tokens_[at_].text.clear();
      } else if (token.is("__device__") || token.is("__constant__") || token.is("__managed__")) {
        of_device();
      } else if (token.is("__noinline__")) {
        noinline();
      } else if (token.is("=") && is_vector(at_ + 1) && scopes_.in_function()) {
        tokens_[at_ + 1].text.insert(0, "::prenorm::emulator::whole(");
        tokens_[closing(at_ + 2)].text += ")";
      } else if (token.is("__shared__")) {
        shared_declaration();
      } else if (!token.system && begins_launch(at_)) {
        launch();
      } else if (token.is("cudaLaunchKernel") || token.is("cudaLaunchCooperativeKernel")) {
        keep_type();
      }
    }
    std::string result;
    for (const Token& token : tokens_) result.append(token.before).append(token.text);
    return result;
  }

 private:
  using Index = std::size_t;

  const Token& token(Index i) const {
    static const Token none;
    return i < tokens_.size() ? tokens_[i] : none;
  }

  void refuse_missing() {
    const Token& word = tokens_[at_];
    const auto found = missing.find(word.text);
    if (found == missing.end()) return;
    if (token(at_ + 2).text.starts_with("\"prenorm_")) return;  // a name of cuda_runtime.h
    // Programs have such a name of their own.
    if (word.is("texture") && !token(at_ + 1).is("<")) return;
    Index open = at_ + 1;
    while (token(open).is_word()) ++open;  // volatile
    const Index end = open + 2;            // of the instructions
    if (token(open + 1).is("\"\"") && (token(end).is(")") || token(end).text[0] == ':')) {
      // It has none; its operands are for the device's compiler.
      for (Index i = end, close = closing(open); i < close; ++i) tokens_[i].text.clear();
      return;
    }
    throw not_emulated(word.at, std::string(word.text) + " (" + std::string(found->second) + ")");
  }

  Index statement() const { return scopes_.statement(); }

  /// Whether float4{ stands there, or another vector in braces that a device stores as a whole.
  bool is_vector(Index i) const {
    static const std::regex names("u?(char|short|int|long|longlong|float|double)[24]");
    return token(i + 1).is("{") && std::regex_match(token(i).text, names);
  }

  // --- kernels ---------------------------------------------------------------------------------

  /// A kernel's body begins with a call that says which one it is.
  void kernel() {
    tokens_[at_].text.clear();
    Index open = at_, close = at_;  // the brackets of its parameters: the last ones
    for (Index i = at_ + 1; i < tokens_.size(); ++i) {
      const bool body = tokens_[i].is("{");
      if (body) {
        tokens_[i + 1].before.insert(0, " ::prenorm::emulator::enter_kernel(__PRETTY_FUNCTION__);");
      }
      if (body || tokens_[i].is(";")) break;
      if (!is_opening(tokens_[i])) continue;
      open = i;
      i = close = closing(i);
    }
    if (open == at_) return;
    bool one = true;  // function of that name, and no argument may be left out
    for (Index i = statement(); i < close; ++i) {
      one = one && !tokens_[i].is(i < at_ ? "template" : "=");
    }
    const std::string types = types_of(open, close);
    const auto [known, is_new] = kernels_.try_emplace(std::string(tokens_[open - 1].text));
    if (is_new) known->second = {one, types};
    known->second.one = known->second.one && one && known->second.types == types;
  }

  /// The types of parameters, without the parameters' names: enough to tell a declaration that is
  /// repeated from an overload.
  std::string types_of(Index open, Index close) const {
    std::string types;
    Index begin = open + 1;
    for (Index i = open + 1; i <= close; ++i) {
      if (i < close && is_opening(tokens_[i])) i = closing(i);
      if (i < close && !tokens_[i].is(",")) continue;
      const bool named = i - begin > 1 && tokens_[i - 1].is_word() && !tokens_[i - 2].is("::");
      for (Index k = begin; k < (named ? i - 1 : i); ++k) types += tokens_[k].text + " ";
      types += ",";
      begin = i + 1;
    }
    return types;
  }

  /// As a word of its own it is CUDA's. As a macro it would break the standard library's headers,
  /// which write __attribute__((__noinline__)).
  void noinline() {
    const Token& before = token(at_ - 1);
    if (at_ > 0 && (before.is("(") || before.is(","))) return;
    tokens_[at_].text = "__attribute__((__noinline__))";
  }

  /// __device__, __constant__, __managed__: a variable of the first two lies where the host has no
  /// access (bounds.hpp).
  void of_device() {
    Token& word = tokens_[at_];
    const bool managed = word.is("__managed__");
    word.text.clear();
    if (managed || scopes_.in_function() || scopes_.in_type()) return;
    bool initialized = false;
    for (Index i = statement(); i < tokens_.size() && !tokens_[i].is(";"); ++i) {
      const Token& each = tokens_[i];
      // Constants are not written, templates' variables belong to no section.
      for (const std::string_view other : {"template", "inline", "const", "constexpr", "operator",
                                           "extern", "__managed__", "using", "typedef"}) {
        if (each.is(other)) return;
      }
      initialized = each.is("=") || each.is("{");
      if (initialized) break;
      if (!each.is("(")) continue;
      const Token& before = tokens_[i - 1];
      if (!before.is("alignas") && !before.text.starts_with("__a") && !before.is("decltype"))
        return;
      i = closing(i);
    }
    word.text = initialized
                    ? "__attribute__((section(\"prenorm_device\")))"
                    : "__attribute__((section(\"prenorm_device_zero,\\\"aw\\\",@nobits#\")))";
  }

  // --- shared memory ---------------------------------------------------------------------------

  void shared_declaration() {
    Index end = at_;
    while (end < tokens_.size() && !tokens_[end].is(";")) ++end;
    bool dynamic = false;
    for (Index i = statement(); i < end; ++i) dynamic |= tokens_[i].is("extern");
    if (dynamic) {
      dynamic_declaration(end);
      return;
    }
    for (Index i = statement(); i < end; ++i) {
      if (tokens_[i].is("static")) tokens_[i].text.clear();
    }
    // What C++ wants at the beginning.
    std::string alignment;
    for (Index i = at_ + 1; i < end; ++i) {
      if (!tokens_[i].is("alignas")) continue;
      const Index close = closing(i + 1);
      for (Index k = i; k <= close; ++k) alignment += std::exchange(tokens_[k].text, "") + " ";
    }
    if (scopes_.in_function()) limit_shared(end);
    // Nothing constructs it, as on a device.
    const std::string specifiers = "static __constinit thread_local";
    const bool in_walls =
        walls_ && scopes_.in_function() && put_in_walls(end, specifiers, alignment);
    tokens_[at_].text.replace(tokens_[at_].text.find("__shared__"), 10, in_walls ? "" : specifiers);
    if (!in_walls) tokens_[statement()].text.insert(0, alignment);
  }

  /// nvcc refuses more than 48 KB in a kernel. What is declared in inner braces counts alone.
  void limit_shared(Index end) {
    std::string sizes = shared_sizes_;
    for (Index i = statement(); i < end; ++i) {
      const Token& next = token(i + 1);
      if (is_opening(tokens_[i])) {
        i = closing(i);
      } else if (tokens_[i].is("<")) {
        i = end_of_arguments(tokens_, i, end);
      } else if (tokens_[i].is_word() && (i + 1 == end || next.is("[") || next.is(","))) {
        sizes += " + sizeof(" + std::string(tokens_[i].text) + ")";
      }
    }
    const char* message = "\"a kernel has at most 48 KB of static shared memory\"";
    tokens_[end + 1].before.insert(0,
                                   "static_assert(0" + sizes + " <= 48 << 10, " + message + ");");
    if (scopes_.at_top_of_function()) shared_sizes_ = sizes;
  }

  /// For AddressSanitizer, which knows nothing of variables of threads: what is declared becomes
  /// the members of a structure, with bytes between them that nobody may touch, and their names
  /// become references. False where that could have another meaning: a lambda does not capture the
  /// references as it does static arrays.
  bool put_in_walls(Index end, const std::string& specifiers, const std::string& alignment) {
    int depth = 0;
    for (Index i = end; i < tokens_.size() && depth >= 0; ++i) {
      const Token& before = token(i - 1);
      if (token(i).is("[") && !before.is_name() && !is_closing(before)) return false;
      if (depth == 0 && (token(i).is("case") || token(i).is("default"))) return false;
      depth += token(i).is("{") ? 1 : token(i).is("}") ? -1 : 0;
    }
    std::vector<Index> names, commas;
    std::string type;
    bool array = false;
    Index last = end;  // word
    for (Index i = statement(); i < end; ++i) {
      const Token& each = tokens_[i];
      if (each.is("{") || each.is("=") || each.is(":")) return false;
      if (is_opening(each)) {
        array |= each.is("[");
        i = closing(i);
      } else if (each.is("<") && names.empty()) {
        i = end_of_arguments(tokens_, i, end);
        last = end;
      } else if (each.is_word()) {
        last = i;
      }
      const bool named =
          last < end && (token(i + 1).is("[") || token(i + 1).is(",") || i + 1 == end);
      if (named && names.size() == commas.size()) names.push_back(last);
      if (each.is(",")) commas.push_back(i);
    }
    if (!array || names.size() != commas.size() + 1) return false;
    for (Index i = statement(); i < names[0]; ++i) {
      if (i != at_ && !tokens_[i].is("*")) type += tokens_[i].text + " ";
    }
    const std::string all = "prenorm_shared" + std::to_string(at_);
    int wall = 0;
    std::string references;
    const auto next_wall = [&] {
      const std::string name = "prenorm_wall" + std::to_string(wall++);
      references += "::prenorm::emulator::forbid(" + all + "." + name + "); ";
      return "::prenorm::emulator::Wall " + name + "; ";
    };
    const std::string begin = specifiers + " struct { " + next_wall();
    for (const Index comma : commas) tokens_[comma].text = "; " + next_wall() + alignment + type;
    const std::string close = " " + next_wall() + "} " + all + "; ";
    for (const Index name : names) {
      const std::string& word = tokens_[name].text;
      references +=
          "auto& " + word + " = ::prenorm::emulator::between_walls(" + all + "." + word + "); ";
    }
    tokens_[statement()].text.insert(0, begin + alignment);
    tokens_[end + 1].before.insert(0, close + references);
    return true;
  }

  /// extern __shared__ TYPE NAME[]; the size, where one is given, means nothing.
  void dynamic_declaration(Index end) {
    Index name = at_;
    while (name < end && !tokens_[name + 1].is("[")) ++name;
    if (name >= end || !tokens_[name].is_word()) {
      throw not_emulated(tokens_[at_].at, "this form of extern __shared__");
    }
    std::string type;
    for (Index i = statement(); i < name; ++i) {
      const Token& each = tokens_[i];
      if (each.is("extern") || each.is("__shared__")) continue;
      if (each.is("alignas") || each.is("__attribute__")) {
        i = closing(i + 1);
        continue;
      }
      type += std::string(each.text) + " ";
    }
    const std::string named = std::string(tokens_[name].text);
    for (Index i = closing(name + 1) + 1; i < end; ++i) type += tokens_[i].text;  // s[][32]
    std::string text;
    if (scopes_.in_function()) {
      text = "::prenorm::emulator::Pointer<" + type + "> const " + named +
             " = reinterpret_cast<::prenorm::emulator::Pointer<" + type +
             ">>(::prenorm::emulator::dynamic_shared_memory())";
    } else {
      text = "static constexpr ::prenorm::emulator::DynamicShared<" + type + "> " + named + "{}";
    }
    replace(statement(), end, text);
    at_ = end - 1;
  }

  // --- launches --------------------------------------------------------------------------------

  bool begins_launch(Index i) const {
    return token(i).is("<<") && token(i + 1).is("<") && i > 0 && !token(i - 1).is("operator");
  }
  bool ends_launch(Index i) const {
    return token(i).is(">>") && token(i + 1).is(">") && token(i + 1).before.empty();
  }

  void launch() {
    const Index begin = callee(at_);
    Index close = at_ + 2;
    while (close < tokens_.size() && !ends_launch(close)) {
      close = is_opening(tokens_[close]) ? closing(close) + 1 : close + 1;
    }
    const Index open = close + 2;
    if (begin == at_ || !token(open).is("(")) {
      throw not_emulated(tokens_[at_].at, "this form of <<<");
    }
    const Index end = closing(open);
    std::string name;
    for (Index i = begin; i < at_; ++i) name += tokens_[i].text;
    std::string callee;
    for (Index i = begin; i < at_; ++i) {
      callee += (tokens_[i].before.empty() ? "" : " ") + tokens_[i].text;
    }
    const auto known = kernels_.find(std::string(tokens_[at_ - 1].text));
    tokens_[begin].text =
        "::prenorm::emulator::launch(\"" + escaped(name) + "\", ::prenorm::emulator::Shape(";
    for (Index i = begin + 1; i < at_; ++i) tokens_[i].text.clear();
    tokens_[at_].text.clear();
    tokens_[at_ + 1].text.clear();
    tokens_[close + 1].text.clear();
    if (known != kernels_.end() && known->second.one) {
      // Its parameters take the arguments as those of any call.
      tokens_[close].text = "), " + callee + ")";
      return;
    }
    // Arguments are evaluated once, as by a launch; and the name is looked up with them.
    tokens_[close].text =
        "), [&](auto&... prenorm_argument) { " + callee + "(prenorm_argument...); }";
    tokens_[open].text = open + 1 == end ? "" : ", ";
    for (Index i = open; i < end; ++i) {
      if (tokens_[i].is("__null")) tokens_[i].text = "nullptr";
    }
  }

  /// cudaLaunchKernel((void*)kernel, ...): without the cast, for which a kernel's type is lost.
  void keep_type() {
    Index i = at_ + 1;
    if (!token(i++).is("(")) return;
    const bool named = token(i).is("reinterpret_cast") || token(i).is("static_cast");
    if (!named && !token(i).is("(")) return;
    Index end = i + (named ? 2 : 1);
    while (token(end).is("const") || token(end).is("void")) ++end;
    if (!token(end).is("*")) return;
    for (++end; i <= end; ++i) tokens_[i].text.clear();
  }

  /// The first token of the expression that ends before `end`: names, their template arguments,
  /// and what they are looked up in.
  Index callee(Index end) const {
    Index i = end;
    while (i > statement()) {
      Index begin = i - 1;
      if (token(begin).is(">") || token(begin).is(">>")) begin = before_arguments(begin);
      while (begin > statement() && (token(begin).is(")") || token(begin).is("]"))) {
        begin = opening(begin);
        if (begin > statement() && token(begin - 1).is_name())
          --begin;
        else
          break;
      }
      const bool fits = token(begin).is_name() || token(begin).is("(");
      if (!fits) return i;
      i = begin;
      if (i > statement() && token(i - 1).is("template")) --i;
      if (i == statement()) return i;
      const Token& joint = token(i - 1);
      if (!joint.is("::") && !joint.is(".") && !joint.is("->")) return i;
      --i;
      const bool more = i > statement() && (token(i - 1).is_name() || token(i - 1).is(">") ||
                                            token(i - 1).is(")") || token(i - 1).is("]"));
      if (!more) return i;  // a leading ::
    }
    return i;
  }

  /// The name before template arguments that end at `end`.
  Index before_arguments(Index end) const {
    int depth = 0;
    for (Index i = end + 1; i-- > statement();) {
      const Token& each = token(i);
      if (each.is(")") || each.is("]") || each.is("}")) i = opening(i);
      if (each.is(">")) ++depth;
      if (each.is(">>")) depth += 2;
      if (each.is("<")) --depth;
      if (each.is("<<")) depth -= 2;
      if (depth <= 0) return i == 0 ? end : i - 1;
    }
    return end;
  }

  // --- tokens ----------------------------------------------------------------------------------

  Index closing(Index open) const { return front::closing(tokens_, open); }
  Index opening(Index close) const {
    int depth = 0;
    for (Index i = close + 1; i-- > 0;) {
      if (is_closing(tokens_[i])) ++depth;
      if (is_opening(tokens_[i]) && --depth == 0) return i;
    }
    return close;
  }
  /// Puts the text in place of the tokens; the lines between them stay.
  void replace(Index begin, Index end, const std::string& text) {
    for (Index i = begin; i < end; ++i) tokens_[i].text.clear();
    tokens_[begin].text = text;
  }
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  }
  struct Kernel {
    bool one = false;  // it is the only function of its name, and no template
    std::string types;
  };
  std::map<std::string, Kernel> kernels_;
  std::vector<Token> tokens_;
  bool walls_ = false;        // around static shared arrays
  std::string shared_sizes_;  // " + sizeof(a)" of those of a function so far
  Index at_ = 0;
  Scopes scopes_;
};

}  // namespace
}  // namespace prenorm::emulator::front

namespace {
std::string all_of(std::istream& stream) { return {std::istreambuf_iterator<char>(stream), {}}; }
}  // namespace

/// The argument is the source as the host sees it, where that differs, and before it may stand
/// `--walls`: static shared arrays get some. Or it is `--errors`: the input is what the compiler
/// said of the output.
int main(int count, char** arguments) {
  using namespace prenorm::emulator::front;
  std::ios::sync_with_stdio(false);
  const std::string input = all_of(std::cin);
  std::string of_host;
  if (count > 1 && std::string_view(arguments[1]) == "--errors") {
    const std::string missing = what_is_missing(input);
    std::cerr << (missing.empty() ? input : missing + "\n");
    return 1;
  }
  const bool walls = count > 1 && std::string_view(arguments[1]) == "--walls";
  if (count > 1 + walls) {
    std::ifstream file(arguments[1 + walls]);
    of_host = all_of(file);
  }
  try {
    std::vector<Token> tokens = tokenize(input);
    if (!of_host.empty()) tokens = merge(tokens, tokenize(of_host));
    look_at_sides(tokens);
    std::cout << Translator(std::move(tokens), walls).run();
    std::cout.flush();
    return std::cout ? 0 : 2;
  } catch (const Refused& refused) {
    std::cerr << refused.what() << "\n";
    return 1;
  }
}
