#include "grade/emulator_kit.hpp"

#include "base/home.hpp"
#include "grade/snapshot.hpp"

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* archive = "lib/prenorm/libprenorm-emulator-submission.a";
constexpr const char* options = "lib/prenorm/libprenorm-emulator-profile.options";

void copy_part(const fs::path& name, const fs::path& to) {
  fs::create_directories((to / name).parent_path());
  // A build tree has links, to folders and files that cannot be seen in the sandbox either.
  fs::copy(fs::canonical(home() / name), to / name, fs::copy_options::recursive);
}

}  // namespace

bool has_emulator() { return fs::exists(home() / archive); }

void copy_emulator_kit(const fs::path& to) {
  try {
    for (const char* name :
         {"libexec/prenorm/prenorm-cu++", "libexec/prenorm/prenorm-cuda-to-cpp", archive, options,
          "include/prenorm", "share/cmake/prenorm", "share/prenorm/emulator/include"}) {
      copy_part(name, to);
    }
    for (const auto& entry : fs::directory_iterator(home() / "share/prenorm/emulator")) {
      const fs::path name = entry.path().filename();
      if (name.extension() == ".hpp") copy_part("share/prenorm/emulator" / name, to);
    }
  } catch (const fs::filesystem_error& error) {
    throw CannotCopy(error.what());
  }
}

}  // namespace prenorm::harness
