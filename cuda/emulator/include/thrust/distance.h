// <thrust/distance.h> of the emulator.
#pragma once

#include "algorithms.h"
