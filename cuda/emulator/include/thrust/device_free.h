// <thrust/device_free.h> of the emulator.
#pragma once

#include "device_ptr.h"
