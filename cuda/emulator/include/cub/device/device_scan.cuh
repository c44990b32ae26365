// <cub/device/device_scan.cuh> of the emulator.
#pragma once

#include "device_reduce.cuh"
