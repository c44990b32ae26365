#include "sides.hpp"

#include "scopes.hpp"

#include <set>
#include <string_view>

namespace prenorm::emulator::front {
namespace {

using Index = std::size_t;
using Names = std::set<std::string_view>;

bool is_one_of(const Token& token, const Names& words) { return words.contains(token.text); }

class Sides {
 public:
  explicit Sides(const std::vector<Token>& tokens) : tokens_(tokens) {}

  void run() {
    Scopes scopes;
    for (Index i = 0; i < tokens_.size(); ++i) {
      const Index begin = scopes.statement();
      const bool outside = !scopes.in_function();
      const bool in_type = scopes.in_type();
      const bool ends = at(i).is("{") || at(i).is(";");
      scopes.pass(tokens_, i);
      const bool ours = at(i).at.file.find("/prenorm/emulator/") != std::string_view::npos;
      if (!outside || !ends || begin == i) continue;
      const bool body = at(i).is("{") && scopes.in_function();
      const bool of_library = at(i).system || ours;
      if (!in_type && (body || at(i).is(";"))) declaration(begin, i, of_library);
      if (of_library) continue;
      if (at(i).is("{") && !body) type(begin, i);
      if (body && is_device_code(begin, i)) bodies_.push_back({begin, i, in_type});
    }
    for (const Body& body : bodies_) look_at(body);
  }

 private:
  struct Body {
    Index begin, brace;  // of its declaration, and where that ends
    bool member;
  };

  const Token& at(Index i) const { return tokens_[i]; }

  /// The side of a declaration; a function of both sides belongs to either.
  bool is_device_code(Index begin, Index end) const {
    bool device = false;
    for (Index i = begin; i < end; ++i) {
      if (at(i).is("__host__")) return false;
      device |= at(i).is("__device__") || at(i).is("__global__");
    }
    return device;
  }

  void type(Index begin, Index brace) {
    const bool enumerates = at(begin).is("enum");
    for (Index i = begin; i < (enumerates ? closing(tokens_, brace) : brace); ++i) {
      if (at(i).is_word()) others_.insert(at(i).text);
    }
  }

  /// One at namespace scope.
  void declaration(Index begin, Index end, bool of_library) {
    static const Names no_variables{"using",     "typedef",       "template", "class",
                                    "struct",    "union",         "enum",     "friend",
                                    "namespace", "static_assert", "operator", "extern"};
    static const Names of_device{"__device__",  "__global__", "__constant__",
                                 "__managed__", "__shared__", "constexpr"};
    bool device = false, constant = false, no_variable = false;
    Index open = end;  // of parameters
    for (Index i = begin; i < end; ++i) {
      device |= is_one_of(at(i), of_device);
      constant |= at(i).is("const");
      no_variable |= is_one_of(at(i), no_variables);
      if (at(i).is("=") || at(i).is("{")) break;
      if (!at(i).is("(")) continue;
      const bool attribute = i > begin && (at(i - 1).is("alignas") || at(i - 1).is("decltype") ||
                                           at(i - 1).text.starts_with("__a"));
      if (!attribute) {
        open = i;
        break;
      }
      i = closing(tokens_, i);
    }
    if (open < end) {
      if (open < begin + 2 || !at(open - 1).is_word()) return;
      const bool member = open > begin + 1 && at(open - 2).is("::");
      // Inline ones may be a kernel's for the CPU alone (approximate.cuh).
      for (Index i = begin; i < open; ++i) device |= at(i).is("inline");
      Names& names = of_library ? libraries_ : device ? others_ : functions_;
      if (!member) names.insert(at(open - 1).text);
      return;
    }
    if (of_library || (no_variable && !device)) return;
    for (const Index name : declared(begin, end)) {
      const bool array = at(name + 1).is("[");
      (device || (constant && !array) ? others_ : variables_).insert(at(name).text);
    }
  }

  /// The names that a declaration of variables in [begin, end) declares; none if it is no such.
  std::vector<Index> declared(Index begin, Index end) const {
    static const Names no_type{"return", "throw", "goto", "delete", "new", "case"};
    static const Names between{"::", "*", "&", "&&"};
    std::vector<Index> names;
    Index i = begin, name = end;
    int words = 0;
    for (; i < end; ++i) {
      const Token& each = at(i);
      if (is_one_of(each, no_type)) return {};
      if (each.is("alignas") || each.text.starts_with("__a")) {
        if (at(i + 1).is("(")) i = closing(tokens_, i + 1);
      } else if (each.is("decltype") && at(i + 1).is("(")) {
        ++words;
        i = closing(tokens_, i + 1);
      } else if (each.is_word()) {
        ++words;
        name = i;
      } else if (each.is("<")) {
        i = end_of_arguments(tokens_, i, end);
        if (i == end) return {};
      } else if (each.is("[") && name < i && at(name).is("auto")) {
        for (; i < end && !at(i).is("]"); ++i) {
          if (at(i).is_word()) names.push_back(i);
        }
        return names;
      } else if (!is_one_of(each, between) && !is_of_pack(i)) {
        break;
      }
    }
    if (at(i).is("(") && (at(i + 1).is("*") || at(i + 1).is("&"))) {  // float (*of)(float)
      const Index close = closing(tokens_, i);
      if (at(close - 1).is_word() && (at(close + 1).is("(") || at(close + 1).is("["))) {
        return {close - 1};
      }
    }
    if (words < 2 || name + 1 != i) return {};
    static const Names follows{"=", ";", ",", "[", "(", "{", ":", ")"};
    if (i < tokens_.size() && !is_one_of(at(i), follows)) return {};
    names.push_back(name);
    for (; i < end; ++i) {  // int a = f(x), *b;
      if (is_opening(at(i))) i = closing(tokens_, i);
      if (!at(i).is(",")) continue;
      while (i + 1 < end && (at(i + 1).is("*") || at(i + 1).is("&"))) ++i;
      if (i + 1 < end && at(i + 1).is_word()) names.push_back(i + 1);
    }
    return names;
  }

  /// A dot of `...`.
  bool is_of_pack(Index i) const {
    return at(i).is(".") && (at(i - 1).is(".") || at(i + 1).is("."));
  }

  /// What a function declares, anywhere in it, and its parameters.
  Names own_names(const Body& body, Index end) const {
    static const Names begins{";", "{", "}", "(", ":", ",", "else", ")"};
    static const Names types{"struct", "class", "union", "enum"};
    static const Names heads{"for", "if", "while", "switch", "constexpr", "__device__", "__host__"};
    Names names;
    for (Index i = body.begin; i < body.brace; ++i) {
      if (at(i).is_word()) names.insert(at(i).text);
    }
    for (Index i = body.brace; i < end; ++i) {
      if (is_one_of(at(i), types)) own_type(i, names);
      if (at(i).is("=") && at(i - 1).is_word() && in_captures(i)) names.insert(at(i - 1).text);
      if (!is_one_of(at(i), begins)) continue;
      Index stop = i + 1;
      while (stop < end && !at(stop).is(";") && !is_closing(at(stop))) {
        stop = is_opening(at(stop)) ? closing(tokens_, stop) + 1 : stop + 1;
      }
      // Of a lambda's parameters, or of an if or a loop; of a call's arguments none.
      if (at(i).is("(") && at(i - 1).is_name() && !is_one_of(at(i - 1), heads)) continue;
      if (at(i).is(",") && !lambda(i)) continue;
      for (const Index name : declared(i + 1, stop)) names.insert(at(name).text);
    }
    return names;
  }
  /// What a type in a function declares beside its members: struct { int a; } NAME; enum { NAME };
  void own_type(Index type, Names& names) const {
    Index brace = type;
    while (!at(brace).is("{") && !at(brace).is(";") && !is_closing(at(brace))) ++brace;
    if (!at(brace).is("{")) return;
    const Index close = closing(tokens_, brace);
    if (at(close + 1).is_word()) names.insert(at(close + 1).text);
    for (Index i = brace; at(type).is("enum") && i < close; ++i) names.insert(at(i).text);
  }
  /// Whether this = stands in [x = 1], among a lambda's captures.
  bool in_captures(Index equals) const {
    Index i = equals - 1;
    while (!at(i).is("[") && !at(i).is(";")) --i;
    return at(i).is("[") && !at(i - 1).is_name() && !is_closing(at(i - 1));
  }
  /// Whether this comma stands in the parameters of a lambda.
  bool lambda(Index comma) const {
    int depth = 0;
    for (Index i = comma; i-- > 0;) {
      if (at(i).is(";")) return false;
      if (is_closing(at(i))) ++depth;
      if (is_opening(at(i)) && --depth < 0) return at(i).is("(") && i > 0 && at(i - 1).is("]");
    }
    return false;
  }

  /// Whether only the type of what stands there is asked for.
  bool is_unevaluated(Index name) const {
    static const Names asks{"sizeof", "alignof", "decltype", "noexcept", "typeid"};
    if (is_one_of(at(name - 1), asks)) return true;
    int depth = 0;
    for (Index i = name; i-- > 1 && !at(i).is(";");) {
      if (is_closing(at(i))) ++depth;
      if (is_opening(at(i)) && --depth < 0) {
        if (is_one_of(at(i - 1), asks)) return true;
        depth = 0;
      }
    }
    return false;
  }

  void look_at(const Body& body) const {
    // Of C's library.
    static const Names hosts{"rand",  "srand",      "fprintf",
                             "fopen", "fclose",     "exit",
                             "scanf", "cudaMemcpy", "cudaDeviceSynchronize"};
    const Index end = closing(tokens_, body.brace);
    const Names own = own_names(body, end);
    bool member = body.member;
    for (Index i = body.begin; i < body.brace; ++i) member |= at(i).is("::");
    for (Index i = body.brace + 1; i < end; ++i) {
      const Token& word = at(i);
      const Token &before = at(i - 1), &after = at(i + 1);
      if (!word.is_word() || own.contains(word.text) || others_.contains(word.text)) continue;
      if (before.is(".") || before.is("->") || before.is("::") || after.is("::")) continue;
      const auto refuse = [&](const std::string& what, const std::string& instead) {
        if (!is_unevaluated(i))
          throw Refused(word.at, what + " " + word.text + " in device code" + instead);
      };
      if (after.is("(") && !(before.is_name() || before.is(">") || before.is("*"))) {
        if (hosts.contains(word.text) ||
            (functions_.contains(word.text) && !libraries_.contains(word.text) && !member)) {
          refuse("a call of the host's function", "");
        }
      } else if (!member && variables_.contains(word.text)) {
        refuse("the host's variable",
               ": a kernel knows __device__ and __constant__ ones, and its arguments");
      }
    }
  }

  const std::vector<Token>& tokens_;
  Names variables_, functions_;  // of the host
  Names libraries_;              // functions of those; some of the same name may be a device's
  Names others_;                 // which device code may use
  std::vector<Body> bodies_;
};

}  // namespace

void look_at_sides(const std::vector<Token>& tokens) { Sides(tokens).run(); }

}  // namespace prenorm::emulator::front
