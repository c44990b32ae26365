// `plain-tf32`: the textbook loop of `plain`, but matrix products of float32 tensors read their
// operands as tf32 units do. Its error gives the tf32 tolerances. Other types, and everything that
// is not a product, are as in `plain`, whose object files these are.
#include "../exports/export.hpp"

PRENORM_SOLUTION(kDLCPU)
PRENORM_ALL_TENSORS(template)

extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }

[[maybe_unused]] static const bool set = prenorm::fast::textbook::tf32_solution = true;
