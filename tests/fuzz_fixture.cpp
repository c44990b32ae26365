// libFuzzer: any bytes as the catalogue that the HDF5 child sends.
//
// sources: fixture/check fixture/object fixture/catalogue fixture/draw base/printable
//
// sources: fixture/signature fixture/tensor fixture/dtype
//
// corpus: catalogue
#include "fixture/check.hpp"

#include <cstdlib>

using namespace prenorm::harness;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Node root;
  try {
    root = decode(std::as_bytes(std::span(data, size)));
  } catch (const CatalogueError&) {
    return 0;
  }
  // An accepted frame is decoded completely: encoded again, it is the same but for bools above 1.
  if (encode(root).size() != size) std::abort();

  const ReadLimits limits{1, 1u << 20};
  try {
    const FixtureContents contents = check_fixture(root, limits, {.tolerances = size % 2 == 0});
    for (const Case& each : contents.cases) {
      // What is accepted fits into the limit.
      const auto elements = static_cast<std::size_t>(each.elements());
      if (elements > limits.bytes) std::abort();
      if (each.inputs.size() != contents.signature.inputs.size()) std::abort();
      if (each.scalars.size() != contents.signature.scalars.size()) std::abort();
    }
  } catch (const ObjectError&) {
  }
  try {
    list_outputs(root);
  } catch (const ObjectError&) {
  }
  return 0;
}
