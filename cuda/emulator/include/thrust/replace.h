// <thrust/replace.h> of the emulator.
#pragma once

#include "algorithms.h"
