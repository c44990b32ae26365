// check: init
// says: thrust/sort.h is not emulated
#include <thrust/sort.h>  // BUG
#include "../check.h"
int main() {
  std::vector<int> values{3, 1, 2};
  thrust::sort(values.begin(), values.end());
}
