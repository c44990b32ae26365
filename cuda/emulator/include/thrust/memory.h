// <thrust/memory.h> of the emulator.
#pragma once

#include "device_ptr.h"
