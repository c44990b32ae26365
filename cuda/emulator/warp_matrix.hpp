// Tensor cores and their loads in the emulator, as mma.cuh offers them to kernels: ldmatrix,
// mma.sync and cp.async.
//
// Memory is read and written here, by the thread that does so on a device, so that sanitizers and
// the checker see it. Exchanges between lanes are in warp_matrix.cpp, which none of them watches.
#pragma once

#include "emulator.hpp"

#include <prenorm/float16.hpp>
#include <string>

namespace prenorm::emulator {

/// What a lane gives for ldmatrix, and what it gets.
struct MatrixRow {
  AsyncCopy::Bytes row;
  unsigned* registers;
};
void exchange_rows(const char* word, MatrixRow& row, bool transposed);

inline void require_aligned(const void* at, const char* what, unsigned bytes = 16) {
  if (reinterpret_cast<std::uintptr_t>(at) % bytes == 0) return;
  throw KernelError(where() + ": " + what + " is not aligned to " + std::to_string(bytes) +
                    " bytes");
}

/// ldmatrix.sync.aligned.m8n8.x4.shared.b16, with .trans or without.
inline void ldmatrix(unsigned (&registers)[4], const void* row, bool transposed) {
  const char* word = transposed ? "ldmatrix.trans" : "ldmatrix";
  require_aligned(row, "the row of an ldmatrix");
  MatrixRow mine{*static_cast<const AsyncCopy::Bytes*>(row), registers};
  exchange_rows(word, mine, transposed);
}

/// mma.sync.aligned.m16n8k16.row.col, c += a b. Products are exact, sums in float32, by k.
void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], float16);
void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], bfloat16);

/// d = a b + d, matrices of m x k, k x n and m x n, of which a lane holds every 32nd element by
/// rows, from its own number on. Products and sums are T's, by k. By all lanes of a warp.
template <class T>
struct TileProduct {
  unsigned m, n, k;
  const T *a, *b;
  T* d;
};
void multiply_tiles(const char* word, TileProduct<float> lane, Place here);
void multiply_tiles(const char* word, TileProduct<double> lane, Place here);
void multiply_tiles(const char* word, TileProduct<int> lane, Place here);

/// Waits for all lanes of the warp, and does no more.
void meet(const char* word, Place here);

/// Writes where the copy goes to, as one access or by words.
PRENORM_NOT_COUNTED inline void put(const AsyncCopy& copy, const AsyncCopy::Bytes& bytes) {
  if (copy.size == sizeof bytes) {
    *copy.to = bytes;
    return;
  }
  using Word = unsigned __attribute__((may_alias));
  for (unsigned i = 0; i < copy.size / sizeof(Word); ++i) {
    reinterpret_cast<Word*>(copy.to)[i] = bytes[i];
  }
}

/// cp.async.ca and .cg.shared.global, 4, 8 or 16 bytes (`size`) of which `bytes` are read. The old
/// content is lost at once, the new one is there when the thread has waited: in between the bytes
/// are NaN, and count as unwritten.
inline void cp_async(void* to, const void* from, unsigned bytes, unsigned size = 16) {
  require_aligned(to, "where a cp.async writes", size);
  require_aligned(from, "what a cp.async reads", size);
  if (bytes > size || (size != 4 && size != 8 && size != 16)) {
    throw KernelError(where() + ": a cp.async reads " + std::to_string(bytes) + " bytes, of " +
                      std::to_string(size));
  }
  const AsyncCopy copy{static_cast<AsyncCopy::Bytes*>(to), from, bytes, size};
  put(copy, ~AsyncCopy::Bytes{});
  begin_copy(copy);
}

/// cp.async.wait_group.
PRENORM_NOT_COUNTED inline void wait_for_copies(int groups_left) {
  AsyncCopy copy;
  while (next_copy(groups_left, &copy)) {
    alignas(16) unsigned char bytes[16] = {};
    for (unsigned i = 0; i < copy.bytes; ++i) {
      bytes[i] = static_cast<const unsigned char*>(copy.from)[i];
    }
    put(copy, *reinterpret_cast<const AsyncCopy::Bytes*>(bytes));
  }
}

}  // namespace prenorm::emulator
