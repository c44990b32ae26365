// <thrust/for_each.h> of the emulator.
#pragma once

#include "algorithms.h"
