// check: init
// says: DeviceRadixSort (cub of a whole device) is not emulated
#include <cub/cub.cuh>
#include "../check.h"
int main() {
  int *from = on_device(std::vector<int>(9)), *to = on_device(std::vector<int>(9));
  size_t bytes = 0;
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, from, to, 9);  // BUG
}
