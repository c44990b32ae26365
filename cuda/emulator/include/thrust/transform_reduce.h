// <thrust/transform_reduce.h> of the emulator.
#pragma once

#include "algorithms.h"
