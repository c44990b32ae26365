// libFuzzer: any text as a signature, bound to tensors of matching shapes.
// sources: fixture/signature fixture/tensor fixture/dtype
// corpus: signature
#include "fixture/signature.hpp"

#include <cstdlib>

using namespace prenorm::harness;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Signature signature;
  try {
    signature = parse_signature(text);
  } catch (const SignatureError&) {
    return 0;
  }
  // What was accepted is accepted again, and means the same.
  if (parse_signature(signature.text).text != signature.text) std::abort();

  std::vector<std::optional<TensorType>> types;
  for (const TensorSpec& spec : signature.inputs) {
    Shape shape(spec.dims.size(), 3);
    if (spec.batched) shape.insert(shape.begin(), size % 3, 2);
    types.push_back(TensorType{spec.dtype.value_or(DType::float32), shape});
    if (spec.optional && size % 2 == 0) types.back().reset();
  }
  try {
    output_types(signature, prenorm::harness::bind(signature, types));
  } catch (const SignatureError&) {
  }
  return 0;
}
