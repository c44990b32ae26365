// The folders of the program and its parts, and how it was called.
#pragma once

#include <filesystem>
#include <string>

namespace prenorm::harness {

/// The root of the build tree or installation that this program belongs to: its helpers are in
/// libexec/prenorm, its solutions in lib/prenorm, its data in share/prenorm. $PRENORM_HOME
/// overrides it. Throws std::runtime_error if it cannot be found.
std::filesystem::path home();

/// How the program was called, for commands to copy: "./prenorm" or "prenorm".
std::string program_name();

}  // namespace prenorm::harness
