// One spelling of letters with accents.
#pragma once

#include <string>

namespace prenorm::harness {

/// With one character for a letter and its accents, as most keyboards write them (NFC). Names of
/// files from a Mac often have two (NFD). What is no UTF-8 stays as it is.
std::string composed(const std::string& text);

}  // namespace prenorm::harness
