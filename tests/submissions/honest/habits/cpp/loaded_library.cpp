// A function of another library, found while it runs.
#include <dlfcn.h>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  must(library != nullptr);
  const auto exponential = reinterpret_cast<double (*)(double)>(dlsym(library, "exp"));
  must(exponential != nullptr);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = float(x[i] / (1 + exponential(-double(x[i]))));
  must(dlclose(library) == 0);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
