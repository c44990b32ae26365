// What notebooks/prenorm.py asks the harness: what a signature says of a call, and how elements
// compare. A shared library with C functions, for ctypes.
#include "compare.hpp"
#include "signature.hpp"

#include <prenorm/prenorm.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace prenorm::harness;

namespace {

DType dtype_of(const DLTensor& tensor) {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16,
                            DType::int64, DType::boolean}) {
    const DLDataType each = to_dlpack(dtype);
    if (each.code == tensor.dtype.code && each.bits == tensor.dtype.bits) return dtype;
  }
  throw std::invalid_argument("an element type that no signature has");
}

TensorType type_of(const DLTensor& tensor) {
  return {dtype_of(tensor), Shape(tensor.shape, tensor.shape + tensor.ndim)};
}

nlohmann::json scalar_of(const ScalarSpec& spec) {
  nlohmann::json json{{"name", spec.name}, {"kind", static_cast<int>(spec.kind)}};
  if (spec.default_value) {
    std::visit([&json](auto value) { json["default"] = value; }, *spec.default_value);
  }
  return json;
}

nlohmann::json tensor_of(const TensorSpec& spec) {
  const std::string dtype = spec.dtype ? std::string(name(*spec.dtype)) : "T";
  return {{"name", spec.name}, {"dtype", dtype}, {"optional", spec.optional}};
}

/// Writes a text, cut to what fits, with a 0 byte at its end.
void write(const std::string& text, char* to, std::size_t size) {
  if (size == 0) return;
  const std::size_t count = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
}

/// Runs the body, and writes the text that it returns; 1 and a message where it throws.
template <class Body>
int answer(char* to, std::size_t size, Body body) {
  try {
    write(body(), to, size);
    return 0;
  } catch (const std::exception& error) {
    write(error.what(), to, size);
    return 1;
  }
}

}  // namespace

extern "C" {

/// The tensors and scalars that a signature names, as JSON.
PRENORM_API int prenorm_python_signature(const char* text, char* to, std::size_t size) {
  return answer(to, size, [&] {
    const Signature signature = parse_signature(text);
    nlohmann::json json{{"inputs", nlohmann::json::array()},
                        {"scalars", nlohmann::json::array()},
                        {"outputs", nlohmann::json::array()}};
    for (const TensorSpec& spec : signature.inputs) json["inputs"].push_back(tensor_of(spec));
    for (const ScalarSpec& spec : signature.scalars) json["scalars"].push_back(scalar_of(spec));
    for (const TensorSpec& spec : signature.outputs) json["outputs"].push_back(tensor_of(spec));
    return json.dump();
  });
}

/// Holds inputs (nullptr: absent) against a signature; element types and shapes of the outputs, as
/// JSON.
PRENORM_API int prenorm_python_outputs(const char* text, const DLTensor* const* inputs,
                                       std::int32_t count, char* to, std::size_t size) {
  return answer(to, size, [&] {
    const Signature signature = parse_signature(text);
    std::vector<std::optional<TensorType>> types;
    for (const DLTensor* tensor : std::span(inputs, static_cast<std::size_t>(count))) {
      types.push_back(tensor != nullptr ? std::optional(type_of(*tensor)) : std::nullopt);
    }
    nlohmann::json json = nlohmann::json::array();
    for (const TensorType& type :
         output_types(signature, prenorm::harness::bind(signature, types))) {
      json.push_back({{"dtype", name(type.dtype)}, {"shape", type.shape}});
    }
    return json.dump();
  });
}

/// Element by element, as `verify` does: whether it passes, and its error in units in the last
/// place. All four arrays have as many elements as `actual`.
PRENORM_API int prenorm_python_compare(const DLTensor* actual, const double* expected, double atol,
                                       double rtol, std::uint8_t* passes, double* ulps, char* to,
                                       std::size_t size) {
  return answer(to, size, [&] {
    const TensorType type = type_of(*actual);
    const Tolerance tolerance{.atol = atol, .rtol = rtol};
    for (std::int64_t i = 0; i < element_count(type.shape); ++i) {
      const ElementReport report =
          compare_element(type.dtype, load(type.dtype, actual->data, i), expected[i], tolerance);
      passes[i] = report.passes ? 1 : 0;
      ulps[i] = report.ulps;
    }
    return std::string();
  });
}

/// One unit in the last place of the named type at a value.
PRENORM_API double prenorm_python_spacing(const char* dtype, double value) {
  const std::optional<DType> parsed = parse_dtype(dtype);
  return parsed && is_floating(*parsed) ? spacing(*parsed, value) : 0;
}

}  // extern "C"
