// <thrust/execution_policy.h> of the emulator.
#pragma once

#include "algorithms.h"
