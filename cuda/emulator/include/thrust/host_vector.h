// <thrust/host_vector.h> of the emulator.
#pragma once

#include "device_vector.h"
