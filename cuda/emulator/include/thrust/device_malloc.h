// <thrust/device_malloc.h> of the emulator.
#pragma once

#include "device_ptr.h"
