// Registers of a warp's lanes as matrices. "g" and "t" below: lane = 4 g + t, as NVIDIA's pictures
// of the fragments have it (PTX ISA, "Matrix fragments for mma.m16n8k16").
#include "warp_matrix.hpp"

#include <cstdint>

namespace prenorm::emulator {
namespace {

constexpr unsigned lanes = 32;

/// Two elements, the first in the lower half.
unsigned pair(std::uint16_t first, std::uint16_t second) {
  return first | static_cast<unsigned>(second) << 16;
}

/// Lanes 8 i to 8 i + 7 gave the rows of matrix i. Each lane gets two neighbours of row g of each
/// matrix, or of its transpose.
template <bool transposed>
void exchange(void* const* operands) {
  std::uint16_t element[lanes][8];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const auto& row = static_cast<const MatrixRow*>(operands[lane])->row;
    for (unsigned i = 0; i < 8; ++i) {
      element[lane][i] = static_cast<std::uint16_t>(row[i / 2] >> i % 2 * 16);
    }
  }
  for (unsigned lane = 0; lane < lanes; ++lane) {
    unsigned* const to = static_cast<const MatrixRow*>(operands[lane])->registers;
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      const auto* matrix = element + i * 8;
      to[i] = transposed ? pair(matrix[2 * t][g], matrix[2 * t + 1][g])
                         : pair(matrix[g][2 * t], matrix[g][2 * t + 1]);
    }
  }
}

/// What a lane gives for a product.
struct Fragments {
  float* c;
  const unsigned *a, *b;
};

template <class T>
float element(unsigned pair, unsigned which) {
  T value;
  value.bits = static_cast<std::uint16_t>(pair >> which * 16);
  return value;
}

template <class T>
void multiply(void* const* operands) {
  float a[16][16], b[16][8], c[16][8];  // a[row][k], b[k][column]
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const auto& own = *static_cast<const Fragments*>(operands[lane]);
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 8; ++i) {
      a[g + i / 2 % 2 * 8][2 * t + i % 2 + i / 4 * 8] = element<T>(own.a[i / 2], i % 2);
    }
    for (unsigned i = 0; i < 4; ++i) {
      b[2 * t + i % 2 + i / 2 * 8][g] = element<T>(own.b[i / 2], i % 2);
      c[g + i / 2 * 8][2 * t + i % 2] = own.c[i];
    }
  }
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned k = 0; k < 16; ++k) {
      for (unsigned column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
    }
  }
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const auto& own = *static_cast<const Fragments*>(operands[lane]);
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) own.c[i] = c[g + i / 2 * 8][2 * t + i % 2];
  }
}

template <class T>
void multiply_whole(void* const* operands) {
  const auto of = [&](unsigned lane) -> const TileProduct<T>& {
    return *static_cast<const TileProduct<T>*>(operands[lane]);
  };
  const auto [m, n, k, own_a, own_b, own_d] = of(0);
  for (unsigned to = 0; to < m * n; ++to) {
    T& sum = of(to % lanes).d[to / lanes];
    for (unsigned i = 0; i < k; ++i) {
      const unsigned at_a = to / n * k + i, at_b = i * n + to % n;
      sum += of(at_a % lanes).a[at_a / lanes] * of(at_b % lanes).b[at_b / lanes];
    }
  }
}

}  // namespace

void multiply_tiles(const char* word, TileProduct<float> lane, Place here) {
  collective(word, &lane, multiply_whole<float>, here);
}
void multiply_tiles(const char* word, TileProduct<double> lane, Place here) {
  collective(word, &lane, multiply_whole<double>, here);
}
void multiply_tiles(const char* word, TileProduct<int> lane, Place here) {
  collective(word, &lane, multiply_whole<int>, here);
}

void meet(const char* word, Place here) {
  collective(
      word, nullptr, [](void* const*) {}, here);
}

void exchange_rows(const char* word, MatrixRow& row, bool transposed) {
  collective(word, &row, transposed ? exchange<true> : exchange<false>);
}

void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], float16) {
  Fragments own{c, a, b};
  collective("mma.sync", &own, multiply<float16>);
}
void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], bfloat16) {
  Fragments own{c, a, b};
  collective("mma.sync", &own, multiply<bfloat16>);
}

}  // namespace prenorm::emulator
