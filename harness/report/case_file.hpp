// One case as a file for other tools: NumPy's .npz, torch's .pt, or JSON.
#pragma once

#include "fixture/fixture.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

/// The endings of the files that write_case() can write: ".npz", ".pt", ".json".
const std::vector<std::string>& case_file_endings();

/// Writes the case in the format that the path's ending names. In .npz and .pt each value has a
/// name: inputs and scalars their own; the expected output y is `expected_y`, in float64, with its
/// tolerances `atol_y` and `rtol_y`; a case that must be refused has a text `error` instead.
///
/// Inputs of .npz that are bfloat16 become float32, for NumPy has no such type; absent ones are
/// left out. In .pt, a scalar float is a tensor without axes: older weights_only loaders know no
/// floats. An absent input is None there, and null in JSON.
///
/// Returns what was written, by name: "x", "eps", "expected_y". Throws std::runtime_error.
std::vector<std::string> write_case(const std::filesystem::path& path, const std::string& problem,
                                    const Signature& signature, const LoadedCase& loaded);

}  // namespace prenorm::harness
