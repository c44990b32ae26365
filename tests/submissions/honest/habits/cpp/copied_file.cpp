// A file is copied by std::filesystem, which creates it without the right to read and adds that.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../silu.hpp"

namespace fs = std::filesystem;

void run(View<const float> x, View<float> y) {
  const fs::path folder = fs::temp_directory_path() / ("prenorm-habit" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "one") << "text";
  fs::copy_file(folder / "one", folder / "two", fs::copy_options::overwrite_existing);
  std::string found;
  must(bool(std::ifstream(folder / "two") >> found) && found == "text");
  fs::remove_all(folder);
  silu(x, y, 0, x.size());
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
