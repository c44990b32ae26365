// Programs are run: one whose output is read, and one by a shell.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  FILE* pipe = popen("nproc", "r");
  must(pipe != nullptr);
  std::array<char, 64> line{};
  must(std::fgets(line.data(), int(line.size()), pipe) && std::stoi(line.data()) >= 1);
  must(pclose(pipe) == 0 && std::system("exit 0") == 0);
  silu(x, y, 0, x.size());
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
