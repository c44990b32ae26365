// <thrust/scatter.h> of the emulator.
#pragma once

#include "algorithms.h"
