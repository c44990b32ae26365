// <thrust/pair.h> of the emulator.
#pragma once

#include "device_ptr.h"
