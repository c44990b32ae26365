// Files in the working folder and in the one for temporary files.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../silu.hpp"

namespace fs = std::filesystem;

// Temporary files by mkstemp and std::filesystem; one of them is left.
void files(View<const float> x, View<float> y) {
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

namespace fs = std::filesystem;

// A file is copied by std::filesystem, which creates it without the right to read and adds that.
void copied_file(View<const float> x, View<float> y) {
  const fs::path folder = fs::temp_directory_path() / ("prenorm-habit" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "one") << "text";
  fs::copy_file(folder / "one", folder / "two", fs::copy_options::overwrite_existing);
  std::string found;
  must(bool(std::ifstream(folder / "two") >> found) && found == "text");
  fs::remove_all(folder);
  silu(x, y, 0, x.size());
}

// The C library's temporary file, which is in /tmp whatever $TMPDIR says.
void unnamed_file(View<const float> x, View<float> y) {
  FILE* const file = std::tmpfile();
  must(file != nullptr);
  must(std::fputs("text", file) >= 0 && std::fseek(file, 0, SEEK_SET) == 0);
  must(std::fgetc(file) == 't' && std::fclose(file) == 0);
  silu(x, y, 0, x.size());
}

// A log in the working folder, which every call extends.
void working_folder(View<const float> x, View<float> y) {
  std::ofstream log("run.log", std::ios::app);
  must(bool(log << x.size() << std::endl));
  std::string line, last;
  for (std::ifstream file("run.log"); std::getline(file, line);) last = line;
  must(last == std::to_string(x.size()) && std::filesystem::current_path().is_absolute());
  silu(x, y, 0, x.size());
}

void run(View<const float> x, View<float> y) {
  chosen({{"files", files},
          {"copied_file", copied_file},
          {"unnamed_file", unnamed_file},
          {"working_folder", working_folder}})(x, y);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
