// <thrust/extrema.h> of the emulator.
#pragma once

#include "algorithms.h"
