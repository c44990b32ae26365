// <thrust/adjacent_difference.h> of the emulator.
#pragma once

#include "algorithms.h"
