// A solution that asks for tolerances that there are not.
#include <prenorm/prenorm.hpp>

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(nothing, [](prenorm::View<float>) {})
extern "C" PRENORM_API const char* prenorm_mode() { return "int4"; }
