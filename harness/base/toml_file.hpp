// A TOML file that a person wrote: a rubric, adapters, the words of mistakes.
#pragma once

#include "base/paths.hpp"

#include <toml++/toml.h>

namespace prenorm::harness {

/// The table in a file. Throws std::invalid_argument: "FILE:LINE: what is wrong there", or, with
/// the whole path, "FILE: cannot be read: why".
toml::table read_toml(const fs::path& file);

}  // namespace prenorm::harness
