// A log in the working folder, which every call extends.
#include <filesystem>
#include <fstream>
#include <string>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  std::ofstream log("run.log", std::ios::app);
  must(bool(log << x.size() << std::endl));
  std::string line, last;
  for (std::ifstream file("run.log"); std::getline(file, line);) last = line;
  must(last == std::to_string(x.size()) && std::filesystem::current_path().is_absolute());
  silu(x, y, 0, x.size());
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
