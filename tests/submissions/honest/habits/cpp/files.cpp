// Temporary files by mkstemp and std::filesystem; one of them is left.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../silu.hpp"

namespace fs = std::filesystem;

void run(View<const float> x, View<float> y) {
  std::string name = fs::temp_directory_path() / "prenorm-habit-XXXXXX";
  const int file = mkstemp(name.data());
  must(file >= 0 && write(file, "left", 4) == 4 && close(file) == 0 && fs::file_size(name) == 4);

  const fs::path folder = name + ".d";
  fs::create_directories(folder / "a/b");
  const auto bytes = std::streamsize(x.size()) * std::streamsize(sizeof(float));
  std::ofstream(folder / "a/b/x").write(reinterpret_cast<const char*>(x.data()), bytes);
  fs::create_symlink("a/b/x", folder / "link");
  fs::rename(folder / "a/b/x", folder / "moved");
  std::vector<float> found(std::size_t(x.size()));
  must(bool(std::ifstream(folder / "moved").read(reinterpret_cast<char*>(found.data()), bytes)));
  must(fs::remove_all(folder) == 5);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = silu(found[std::size_t(i)]);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
