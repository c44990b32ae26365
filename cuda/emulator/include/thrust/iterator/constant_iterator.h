// <thrust/iterator/constant_iterator.h> of the emulator.
#pragma once

#include "counting_iterator.h"
