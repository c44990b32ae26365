#include "signature.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace prenorm::harness {
namespace {

constexpr std::string_view floating_types = "float64, float32, float16 or bfloat16";

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a signature's text, white space already removed; remembers where each letter stood.
class Parser {
 public:
  explicit Parser(std::string_view text) : original_(text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_space(text[i])) continue;
      text_ += text[i];
      positions_.push_back(i);
    }
  }

  Signature parse() {
    Signature signature;
    signature.text = text_;
    do signature.inputs.push_back(input());
    while (accept(","));
    if (accept(";")) {
      do signature.scalars.push_back(scalar());
      while (accept(","));
    }
    expect("->");
    do signature.outputs.push_back(output());
    while (accept(","));
    if (at_ < text_.size()) fail("the end or ','");
    check_dimensions(signature);
    return signature;
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) const {
    const std::size_t column = at_ < text_.size() ? positions_[at_] + 1 : original_.size() + 1;
    const std::string found =
        at_ < text_.size() ? "'" + text_.substr(at_, 12) + "'" : std::string("the end");
    throw SignatureError("signature, column " + std::to_string(column) + ": wanted " + wanted +
                         ", found " + found);
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw SignatureError("signature: " + what);
  }

  bool accept(std::string_view token) {
    if (!std::string_view(text_).substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail("'" + std::string(token) + "'");
  }

  std::string word(const std::string& what) {
    const std::size_t begin = at_;
    if (at_ == text_.size() || !is_letter(text_[at_])) fail(what);
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  /// A word that no other tensor or scalar has.
  std::string new_name(const std::string& what) {
    const std::size_t begin = at_;
    std::string name = word(what);
    if (!names_.insert(name).second) {
      at_ = begin;
      fail("a name that is not taken");
    }
    return name;
  }

  TensorSpec tensor(const std::string& what) {
    TensorSpec spec;
    spec.name = new_name(what);
    expect("[");
    if (!accept("]")) {
      spec.batched = accept("...");
      if (!spec.batched) spec.dims.push_back(word("a dimension's name, '...' or ']'"));
      while (accept(",")) spec.dims.push_back(word("a dimension's name"));
      expect("]");
    }
    if (accept(":")) spec.dtype = element_type();
    return spec;
  }

  std::optional<DType> element_type() {
    const std::size_t begin = at_;
    const std::string wanted = "float64, float32, float16, bfloat16, int64, bool or T";
    const std::string found = word(wanted);
    if (found == "T") return std::nullopt;
    const std::optional<DType> dtype = parse_dtype(found);
    if (!dtype) {
      at_ = begin;
      fail(wanted);
    }
    return dtype;
  }

  TensorSpec input() {
    TensorSpec spec = tensor("an input's name");
    spec.optional = accept("?");
    return spec;
  }

  TensorSpec output() {
    TensorSpec spec = tensor("an output's name");
    if (at_ < text_.size() && text_[at_] == '?') fail("an output that is not optional");
    return spec;
  }

  ScalarSpec scalar() {
    ScalarSpec spec;
    spec.name = new_name("a scalar's name");
    expect(":");
    const std::size_t begin = at_;
    const std::string kind = word("int, float or bool");
    if (kind == "int") {
      spec.kind = ScalarKind::integer;
    } else if (kind == "float") {
      spec.kind = ScalarKind::floating;
    } else if (kind == "bool") {
      spec.kind = ScalarKind::boolean;
    } else {
      at_ = begin;
      fail("int, float or bool");
    }
    if (accept("=")) spec.default_value = default_value(spec.kind);
    return spec;
  }

  Scalar default_value(ScalarKind kind) {
    if (kind == ScalarKind::integer) return number<std::int64_t>("an integer");
    if (kind == ScalarKind::floating) return number<double>("a finite number");
    if (accept("true") || accept("True")) return true;
    if (accept("false") || accept("False")) return false;
    fail("true or false");
  }

  template <class Number>
  Number number(const std::string& wanted) {
    Number value{};
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc() || !std::isfinite(static_cast<double>(value))) fail(wanted);
    at_ = static_cast<std::size_t>(rest - text_.data());
    return value;
  }

  /// Names that would mean two things, and outputs whose type or batch axes nothing gives.
  static void check_dimensions(const Signature& signature) {
    std::set<std::string> dimensions;
    bool any_batched = false, any_floating = false;
    for (const TensorSpec& input : signature.inputs) {
      dimensions.insert(input.dims.begin(), input.dims.end());
      any_batched = any_batched || input.batched;
      any_floating = any_floating || !input.dtype;
    }
    for (const ScalarSpec& scalar : signature.scalars) {
      if (dimensions.contains(scalar.name)) {
        refuse("'" + scalar.name + "' is both a scalar and a dimension");
      }
    }
    for (const TensorSpec& output : signature.outputs) {
      if (output.batched && !any_batched) {
        refuse("output " + output.name + " has '...', but no input has it");
      }
      if (!output.dtype && !any_floating) {
        refuse("output " + output.name + " has the dtype T, but no input has it");
      }
    }
  }

  std::string_view original_;
  std::string text_;                    // without white space
  std::vector<std::size_t> positions_;  // of each letter of text_ in original_
  std::size_t at_ = 0;
  std::set<std::string> names_;
};

/// "[..., d_in]".
std::string dims_text(const TensorSpec& spec) {
  std::string text = spec.batched ? "[..." : "[";
  for (const std::string& dim : spec.dims) text += (text.size() > 1 ? ", " : "") + dim;
  return text + "]";
}

/// Collects what the inputs of one call say, one input after the other.
class Binder {
 public:
  explicit Binder(const Signature& signature) : signature_(signature) {}

  void add(const TensorSpec& spec, const TensorType& type) {
    check_type(spec, type);
    check_rank(spec, type);
    const std::size_t batch_axes = type.shape.size() - spec.dims.size();
    for (std::size_t i = 0; i < spec.dims.size(); ++i) {
      check_size(spec, type, spec.dims[i], type.shape[batch_axes + i]);
    }
    if (spec.batched) {
      add_batch(
          spec, type,
          Shape(type.shape.begin(), type.shape.begin() + static_cast<std::ptrdiff_t>(batch_axes)));
    }
  }

  Binding finish() {
    for (const TensorSpec& output : signature_.outputs) {
      if (!output.dtype && giver_of_type_.empty()) {
        throw SignatureError("no input is there that gives T, the dtype of output " + output.name);
      }
    }
    return std::move(binding_);
  }

 private:
  [[noreturn]] static void fail(const TensorSpec& spec, const TensorType& type,
                                const std::string& why) {
    throw SignatureError("input " + spec.name + " has shape " + to_text(type.shape) + ", wanted " +
                         dims_text(spec) + why);
  }

  void check_type(const TensorSpec& spec, const TensorType& type) {
    const std::string is = "input " + spec.name + " is " + std::string(name(type.dtype));
    if (spec.dtype) {
      if (type.dtype != *spec.dtype) {
        throw SignatureError(is + ", wanted " + std::string(name(*spec.dtype)));
      }
    } else if (!is_floating(type.dtype)) {
      throw SignatureError(is + ", wanted " + std::string(floating_types));
    } else if (giver_of_type_.empty()) {
      giver_of_type_ = spec.name;
      binding_.element_type = type.dtype;
    } else if (type.dtype != binding_.element_type) {
      throw SignatureError(is + ", wanted " + std::string(name(binding_.element_type)) +
                           ", the dtype of " + giver_of_type_);
    }
  }

  static void check_rank(const TensorSpec& spec, const TensorType& type) {
    const bool fits = spec.batched ? type.shape.size() >= spec.dims.size()
                                   : type.shape.size() == spec.dims.size();
    const bool negative = std::ranges::any_of(type.shape, [](auto extent) { return extent < 0; });
    if (!fits || negative) fail(spec, type, "");
  }

  void check_size(const TensorSpec& spec, const TensorType& type, const std::string& dim,
                  std::int64_t size) {
    const auto [known, is_new] = binding_.sizes.emplace(dim, size);
    if (is_new) giver_of_size_[dim] = spec.name;
    if (known->second == size) return;
    const std::string here = std::to_string(size), before = std::to_string(known->second);
    const std::string& giver = giver_of_size_[dim];
    fail(spec, type,
         giver == spec.name ? ": " + dim + " is both " + before + " and " + here
                            : ": " + dim + " is " + here + " here and " + before + " in " + giver);
  }

  void add_batch(const TensorSpec& spec, const TensorType& type, const Shape& batch) {
    if (!has_batch_) {
      has_batch_ = true;
      binding_.batch = batch;
      return;
    }
    if (signature_.whole_shape()) {
      if (batch != binding_.batch) fail(spec, type, " with ... = " + to_text(binding_.batch));
      return;
    }
    Shape& all = binding_.batch;
    const Shape before = all;
    if (all.size() < batch.size()) all.insert(all.begin(), batch.size() - all.size(), 1);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::int64_t& have = all[all.size() - batch.size() + i];
      if (have == 1) have = batch[i];
      if (batch[i] != have && batch[i] != 1) {
        fail(spec, type,
             ": its batch axes " + to_text(batch) + " do not broadcast with " + to_text(before));
      }
    }
  }

  const Signature& signature_;
  Binding binding_;
  bool has_batch_ = false;
  std::string giver_of_type_;
  std::map<std::string, std::string> giver_of_size_;
};

}  // namespace

bool Signature::whole_shape() const {
  return std::ranges::any_of(scalars, [](const ScalarSpec& s) { return s.name == "dim"; });
}

Signature parse_signature(std::string_view text) { return Parser(text).parse(); }

Binding bind(const Signature& signature, std::span<const std::optional<TensorType>> inputs) {
  if (inputs.size() != signature.inputs.size()) {
    throw SignatureError("the call has " + std::to_string(inputs.size()) +
                         " inputs, the signature wants " + std::to_string(signature.inputs.size()));
  }
  Binder binder(signature);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (inputs[i]) {
      binder.add(spec, *inputs[i]);
    } else if (!spec.optional) {
      throw SignatureError("input " + spec.name + " is missing, wanted " + dims_text(spec));
    }
  }
  return binder.finish();
}

std::vector<TensorType> output_types(const Signature& signature, const Binding& binding) {
  std::vector<TensorType> types;
  for (const TensorSpec& spec : signature.outputs) {
    TensorType type{spec.dtype.value_or(binding.element_type), {}};
    if (spec.batched) type.shape = binding.batch;
    for (const std::string& dim : spec.dims) {
      const auto size = binding.sizes.find(dim);
      if (size == binding.sizes.end()) {
        throw SignatureError("output " + spec.name + " has the dimension " + dim +
                             ", which no input of this call has");
      }
      type.shape.push_back(size->second);
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace prenorm::harness
