// Dot products of bytes: a quantized matrix times a vector, by __dp4a on vectors of char and of
// words.
#include "check.h"

__global__ void quantized(const char4* a, const char4* x, int* y, int words) {
  const int row = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < words; ++i) sum = __dp4a(a[row * words + i], x[i], sum);
  y[row] = sum;
}

__global__ void mixed(unsigned* y) {
  y[0] = __dp2a_lo(make_short2(300, -2), make_char4(2, 3, 100, 100), 1);
  y[1] = __dp2a_hi(make_ushort2(300, 2), make_uchar4(9, 9, 2, 250), 0u);
  y[2] = __dp4a(make_uchar4(255, 255, 255, 255), make_uchar4(255, 1, 0, 2), 5u);
  bool high, low;
  y[3] = __vibmax_s16x2(0x0001ffffu, 0x00050001u, &high, &low);
  y[4] = 2 * high + low;
  y[5] = __vibmin_s32(-4, 3, &low) + 100 * low;
}

int main() {
  const int rows = 16, words = 8;
  std::vector<char4> a(rows * words), x(words);
  const auto byte = [](int i) { return static_cast<signed char>(i * 37 % 255 - 127); };
  for (int i = 0; i < rows * words; ++i) {
    a[i] = make_char4(byte(4 * i), byte(4 * i + 1), byte(4 * i + 2), byte(4 * i + 3));
  }
  for (int i = 0; i < words; ++i) x[i] = make_char4(byte(i), byte(i + 9), byte(2 * i), -1);
  std::vector<int> right(rows);
  for (int i = 0; i < rows * words; ++i) {
    const char4 p = a[i], q = x[i % words];
    right[i / words] += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  }
  int* y = on_device(std::vector<int>(rows));
  quantized<<<1, rows>>>(on_device(a), on_device(x), y, words);
  expect("rows", on_host(y, rows), right, 0);

  unsigned* z = on_device(std::vector<unsigned>(6));
  mixed<<<1, 1>>>(z);
  expect("mixed", on_host(z, 6),
         std::vector<unsigned>{600 - 6 + 1, 600 + 500, 255 * 258 + 5, 0x00050001u, 0, 96}, 0);
}
