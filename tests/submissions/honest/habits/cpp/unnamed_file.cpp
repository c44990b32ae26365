// The C library's temporary file, which is in /tmp whatever $TMPDIR says.
#include <cstdio>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  FILE* const file = std::tmpfile();
  must(file != nullptr);
  must(std::fputs("text", file) >= 0 && std::fseek(file, 0, SEEK_SET) == 0);
  must(std::fgetc(file) == 't' && std::fclose(file) == 0);
  silu(x, y, 0, x.size());
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
