// Fourier transforms: a block's in shared memory with reversed bits, Stockham's steps between two
// buffers, both by complex numbers as float2 and as a class, and a product of polynomials.
#include <complex>
#include "check.h"

typedef float2 Complex;

static __device__ __host__ inline Complex ComplexAdd(Complex a, Complex b) {
  Complex c;
  c.x = a.x + b.x;
  c.y = a.y + b.y;
  return c;
}
static __device__ __host__ inline Complex ComplexMul(Complex a, Complex b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
inline __device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

template <int LOG_N, bool INVERSE>
__global__ void fft_block(Complex* data) {
  constexpr int N = 1 << LOG_N;
  __shared__ Complex s[N];
  Complex* const own = data + blockIdx.x * N;
  for (unsigned i = threadIdx.x; i < N; i += blockDim.x) s[__brev(i) >> (32 - LOG_N)] = own[i];
  for (int half = 1; half < N; half <<= 1) {
    __syncthreads();
    const int k = threadIdx.x & (half - 1), at = ((threadIdx.x - k) << 1) + k;
    float sine, cosine;
    sincospif((INVERSE ? 1.0f : -1.0f) * float(k) / float(half), &sine, &cosine);
    const Complex odd = ComplexMul(make_float2(cosine, sine), s[at + half]), even = s[at];
    s[at] = ComplexAdd(even, odd);
    s[at + half] = even - odd;
  }
  __syncthreads();
  const float scale = INVERSE ? 1.0f / N : 1.0f;
  for (int i = threadIdx.x; i < N; i += blockDim.x) own[i] = {s[i].x * scale, s[i].y * scale};
}

template <class T>
class cplx {
 public:
  __host__ __device__ constexpr cplx(T re = T(), T im = T()) : re_(re), im_(im) {}
  __device__ static cplx polar(T angle) {
    T s, c;
    sincos(angle, &s, &c);
    return cplx(c, s);
  }
  friend __host__ __device__ cplx operator*(const cplx& a, const cplx& b) {
    return cplx(a.re_ * b.re_ - a.im_ * b.im_, a.re_ * b.im_ + a.im_ * b.re_);
  }
  friend __host__ __device__ cplx operator+(const cplx& a, const cplx& b) {
    return {a.re_ + b.re_, a.im_ + b.im_};
  }
  friend __host__ __device__ cplx operator-(const cplx& a, const cplx& b) {
    return {a.re_ - b.re_, a.im_ - b.im_};
  }
  __host__ __device__ T real() const { return re_; }
  __host__ __device__ T imag() const { return im_; }

 private:
  T re_, im_;
};

__global__ void stockham(const cplx<double>* in, cplx<double>* out, int n, int half) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 2) return;
  const int k = i % half;
  const auto twisted = cplx<double>::polar(-3.14159265358979323846 * k / half) * in[i + n / 2];
  out[i / half * 2 * half + k] = in[i] + twisted;
  out[i / half * 2 * half + k + half] = in[i] - twisted;
}

__global__ void multiply(Complex* a, const Complex* b) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = ComplexMul(a[i], b[i]);
}

int main() {
  const int n = 128;
  const double pi = std::acos(-1.0);
  const auto re = numbers(n, 1), im = numbers(n, 2);
  std::vector<float2> host(n);
  std::vector<cplx<double>> doubles(n);
  std::vector<double> right;
  for (int i = 0; i < n; ++i) host[i] = {re[i], im[i]}, doubles[i] = cplx<double>(re[i], im[i]);
  for (int k = 0; k < n; ++k) {
    std::complex<double> sum;
    for (int i = 0; i < n; ++i)
      sum += std::complex<double>(re[i], im[i]) * std::polar(1.0, -2 * pi * (i * k % n) / n);
    right.push_back(sum.real()), right.push_back(sum.imag());
  }
  Complex* d = on_device(host);
  fft_block<7, false><<<1, n / 2>>>(d);
  auto now = on_host(d, n);
  expect("a block's", std::vector<float>(&now[0].x, &now[0].x + 2 * n), right, 1e-5);
  fft_block<7, true><<<1, n / 2>>>(d);
  now = on_host(d, n);
  expect("and back", std::vector<float>(&now[0].x, &now[0].x + 2 * n),
         std::vector<float>(&host[0].x, &host[0].x + 2 * n), 1e-5);

  cplx<double>*a = on_device(doubles), *b = on_device(doubles);
  for (int half = 1; half < n; half *= 2, std::swap(a, b)) stockham<<<2, 32>>>(a, b, n, half);
  std::vector<double> flat;
  for (const auto& z : on_host(a, n)) flat.insert(flat.end(), {z.real(), z.imag()});
  expect("Stockham's", flat, right, 1e-12);

  std::vector<float2> p(2 * 16), q(2 * 16);  // in one launch two blocks
  std::vector<float> product(32), real;
  for (int i = 0; i < 16; ++i) p[i].x = i + 1, q[i].x = i % 3 - 1;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) product[i + j] += p[i].x * q[j].x;
  p.insert(p.end(), q.begin(), q.end());
  Complex* both = on_device(p);
  fft_block<5, false><<<2, 16>>>(both);
  multiply<<<1, 32>>>(both, both + 32);
  fft_block<5, true><<<1, 16>>>(both);
  for (const auto& z : on_host(both, 32)) real.push_back(z.x);
  expect("a product of polynomials", real, product, 1e-4);
}
