// <cub/block/block_load.cuh> of the emulator.
#pragma once

#include "../cub.cuh"
