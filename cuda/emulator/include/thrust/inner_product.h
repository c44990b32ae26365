// <thrust/inner_product.h> of the emulator.
#pragma once

#include "algorithms.h"
