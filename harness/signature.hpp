// Signatures: the text of a problem's contract, parsed, and held against the tensors of a call.
//
//     x[..., d_model], weight[d_model]; eps: float = 1e-5 -> y[..., d_model]
//
// The grammar:  inputs ; scalars -> outputs.  A tensor is name[dims]: dtype, the dtype T if left
// out, `?` at its end where it may be absent. T is one floating type for the whole call. `...` is
// any number of batch axes, which broadcast by NumPy's rules. A dimension's name means one size
// throughout a call. A signature with a scalar `dim` has no batch axes: its `...` is one shape.
#pragma once

#include "tensor.hpp"

#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace prenorm::harness {

/// A scalar argument: int, float or bool.
using Scalar = std::variant<std::int64_t, double, bool>;
enum class ScalarKind { integer, floating, boolean };  // in the variant's order

struct TensorSpec {
  std::string name;
  bool batched = false;           // its dims begin with `...`
  std::vector<std::string> dims;  // the named ones, after `...`
  std::optional<DType> dtype;     // nothing: T
  bool optional = false;
};

struct ScalarSpec {
  std::string name;
  ScalarKind kind = ScalarKind::integer;
  std::optional<Scalar> default_value;
};

struct Signature {
  std::string text;  // without white space: signatures compare by this
  std::vector<TensorSpec> inputs;
  std::vector<ScalarSpec> scalars;
  std::vector<TensorSpec> outputs;

  /// True where `...` is the whole shape and not batch axes (there is a scalar `dim`).
  bool whole_shape() const;
};

/// What is wrong with a signature's text, or with tensors that are held against it.
struct SignatureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Parses a signature; a SignatureError says at which column what was wanted.
Signature parse_signature(std::string_view text);

/// Element type and shape of a tensor, without its data.
struct TensorType {
  DType dtype = DType::float64;
  Shape shape;
};

/// What the names of a signature stand for in one call.
struct Binding {
  DType element_type = DType::float64;        // T
  Shape batch;                                // the broadcast `...`
  std::map<std::string, std::int64_t> sizes;  // of the named dimensions
};

/// Holds the inputs (nothing: absent) against the signature.
///
/// A SignatureError names the tensor, what it is and what was wanted.
Binding bind(const Signature& signature, std::span<const std::optional<TensorType>> inputs);

/// Element type and shape of each output of a call so bound.
///
/// Throws SignatureError where an output has a dimension that no input has.
std::vector<TensorType> output_types(const Signature& signature, const Binding& binding);

}  // namespace prenorm::harness
