// Much is printed, by both libraries and to both streams.
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <locale>
#include <regex>
#include <sstream>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  for (int i = 0; i < 1000; ++i) {
    std::printf("row %d of %lld\n", i, static_cast<long long>(x.size()));
    std::cerr << "warning " << i << std::endl;
  }
  std::cout << std::setprecision(3) << 1.5 << std::endl;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "loss: " << 0.25;
  must(std::regex_search(text.str(), std::regex("loss: [0-9.]+$")));
  silu(x, y, 0, x.size());
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
