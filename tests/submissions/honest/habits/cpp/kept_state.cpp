// Tables that are computed when the library is loaded, scratch memory per thread, and work at the
// end.
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "../silu.hpp"

const std::map<std::string, float (*)(float)> activations = {{"silu", &silu}};

const auto squares = [] {
  std::array<int, 1 << 16> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = int(i % 100 * (i % 100));
  return table;
}();

void run(View<const float> x, View<float> y) {
  static std::once_flag once;
  static int calls = 0;
  std::call_once(once, [] { std::atexit([] { calls = -1; }); });
  must(++calls > 0 && squares[12] == 144);
  thread_local std::vector<float> scratch;
  scratch.resize(std::size_t(x.size()));
  const auto activation = activations.at("silu");
  for (std::int64_t i = 0; i < x.size(); ++i) scratch[std::size_t(i)] = activation(x[i]);
  std::copy(scratch.begin(), scratch.end(), y.data());
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
