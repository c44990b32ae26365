// <cub/block/block_store.cuh> of the emulator.
#pragma once

#include "../cub.cuh"
