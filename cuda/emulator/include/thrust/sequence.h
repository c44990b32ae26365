// <thrust/sequence.h> of the emulator.
#pragma once

#include "algorithms.h"
