// cuBLAS beside gemm and gemv, as plain loops: vectors, symmetric and triangular matrices, and what
// include/cublas_v2.h declares of these. Each routine may access the device's memory.
#include "include/cublas_v2.h"

#include "bounds.hpp"
#include "vectors.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace {

template <class T>
void give(T* to, T value) {
  *to = value;
  prenorm::emulator::bounds::wrote(to, sizeof(T));
}

template <class T>
struct Columns {
  T* values;
  int stride;
  T& operator()(int i, int j) const { return values[std::ptrdiff_t{j} * stride + i]; }
};
/// Of which one half is stored.
template <class T>
struct Symmetric {
  const T* values;
  int stride;
  bool upper;
  double operator()(int i, int j) const {
    if (upper ? i > j : i < j) std::swap(i, j);
    return static_cast<double>(values[std::ptrdiff_t{j} * stride + i]);
  }
};
template <class T>
struct Triangle {
  Triangle(const T* values, int stride, cublasFillMode_t uplo, cublasOperation_t trans,
           cublasDiagType_t diag)
      : values(values),
        stride(stride),
        upper(uplo == CUBLAS_FILL_MODE_UPPER),
        transposed(trans != CUBLAS_OP_N),
        unit(diag == CUBLAS_DIAG_UNIT) {}
  double operator()(int i, int j) const {
    if (transposed) std::swap(i, j);
    if (i == j && unit) return 1;
    if (upper ? i > j : i < j) return 0;
    return static_cast<double>(values[std::ptrdiff_t{j} * stride + i]);
  }
  bool is_upper() const { return upper != transposed; }
  const T* values;
  int stride;
  bool upper, transposed, unit;
};

/// to = alpha a b + beta to, of m x k and k x n. `to` may be a or b.
template <class T, class A, class B, class To>
void combine(int m, int n, T alpha, const A& a, const B& b, int k, T beta, const To& to) {
  std::vector<double> sums;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += static_cast<double>(a(i, l)) * static_cast<double>(b(l, j));
      }
      sums.push_back(sum);
    }
  }
  std::size_t next = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      const double before =
          beta == T(0) ? 0 : static_cast<double>(beta) * static_cast<double>(to(i, j));
      give(&to(i, j), static_cast<T>(static_cast<double>(alpha) * sums[next++] + before));
    }
  }
}

/// a x = x for n unknowns.
template <class T, class X>
void solve(const Triangle<T>& a, int n, const X& x) {
  for (int step = 0; step < n; ++step) {
    const int i = a.is_upper() ? n - 1 - step : step;
    double sum = static_cast<double>(x(i));
    for (int done = 0; done < step; ++done) {
      const int l = a.is_upper() ? n - 1 - done : done;
      sum -= a(i, l) * static_cast<double>(x(l));
    }
    give(&x(i), static_cast<T>(sum / a(i, i)));
  }
}

/// The first of those that no other is `before`, from 1 on.
template <class T, class Before>
int first_of(int n, const Vector<const T>& x, Before before) {
  int best = 0;
  for (int i = 1; i < n; ++i) {
    if (before(std::abs(x[i]), std::abs(x[best]))) best = i;
  }
  return n < 1 ? 0 : best + 1;
}

}  // namespace

#define PRENORM_ROUTINES(letter, small, T)                                                         \
  cublasStatus_t cublas##letter##asum(cublasHandle_t, int n, const T* x, int step_x, T* result) {  \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<const T> of_x(x, n, step_x);                                                      \
    double sum = 0;                                                                                \
    for (int i = 0; i < n; ++i) sum += std::abs(static_cast<double>(of_x[i]));                     \
    give(result, static_cast<T>(sum));                                                             \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##copy(cublasHandle_t, int n, const T* x, int step_x, T* y,         \
                                      int step_y) {                                                \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<const T> of_x(x, n, step_x);                                                      \
    const Vector<T> to(y, n, step_y);                                                              \
    for (int i = 0; i < n; ++i) to[i] = of_x[i];                                                   \
    note_written(to, n);                                                                           \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##swap(cublasHandle_t, int n, T* x, int step_x, T* y, int step_y) { \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<T> one(x, n, step_x), other(y, n, step_y);                                        \
    for (int i = 0; i < n; ++i) std::swap(one[i], other[i]);                                       \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##rot(cublasHandle_t, int n, T* x, int step_x, T* y, int step_y,    \
                                     const T* cosine, const T* sine) {                             \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<T> one(x, n, step_x), other(y, n, step_y);                                        \
    for (int i = 0; i < n; ++i) {                                                                  \
      const T was = one[i];                                                                        \
      one[i] = *cosine * was + *sine * other[i];                                                   \
      other[i] = *cosine * other[i] - *sine * was;                                                 \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##ger(cublasHandle_t, int m, int n, const T* alpha, const T* x,     \
                                     int step_x, const T* y, int step_y, T* a, int lda) {          \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<const T> of_x(x, m, step_x), of_y(y, n, step_y);                                  \
    for (int j = 0; j < n; ++j) {                                                                  \
      for (int i = 0; i < m; ++i) a[std::ptrdiff_t{j} * lda + i] += *alpha * of_x[i] * of_y[j];    \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##symv(cublasHandle_t, cublasFillMode_t uplo, int n,                \
                                      const T* alpha, const T* a, int lda, const T* x, int step_x, \
                                      const T* beta, T* y, int step_y) {                           \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<const T> of_x(x, n, step_x);                                                      \
    const Vector<T> to(y, n, step_y);                                                              \
    combine<T>(                                                                                    \
        n, 1, *alpha, Symmetric<T>{a, lda, uplo == CUBLAS_FILL_MODE_UPPER},                        \
        [&](int i, int) { return static_cast<double>(of_x[i]); }, n, *beta,                        \
        [&](int i, int) -> T& { return to[i]; });                                                  \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##syr(cublasHandle_t, cublasFillMode_t uplo, int n, const T* alpha, \
                                     const T* x, int step_x, T* a, int lda) {                      \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<const T> of_x(x, n, step_x);                                                      \
    for (int j = 0; j < n; ++j) {                                                                  \
      for (int i = 0; i < n; ++i) {                                                                \
        if (uplo == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j)                                      \
          a[std::ptrdiff_t{j} * lda + i] += *alpha * of_x[i] * of_x[j];                            \
      }                                                                                            \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##trmv(cublasHandle_t, cublasFillMode_t uplo,                       \
                                      cublasOperation_t trans, cublasDiagType_t diag, int n,       \
                                      const T* a, int lda, T* x, int step_x) {                     \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<T> of_x(x, n, step_x);                                                            \
    combine<T>(                                                                                    \
        n, 1, T(1), Triangle<T>(a, lda, uplo, trans, diag),                                        \
        [&](int i, int) { return static_cast<double>(of_x[i]); }, n, T(0),                         \
        [&](int i, int) -> T& { return of_x[i]; });                                                \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##trsv(cublasHandle_t, cublasFillMode_t uplo,                       \
                                      cublasOperation_t trans, cublasDiagType_t diag, int n,       \
                                      const T* a, int lda, T* x, int step_x) {                     \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<T> of_x(x, n, step_x);                                                            \
    solve<T>(Triangle<T>(a, lda, uplo, trans, diag), n, [&](int i) -> T& { return of_x[i]; });     \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##syrk(cublasHandle_t, cublasFillMode_t uplo,                       \
                                      cublasOperation_t trans, int n, int k, const T* alpha,       \
                                      const T* a, int lda, const T* beta, T* c, int ldc) {         \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const bool upper = uplo == CUBLAS_FILL_MODE_UPPER;                                             \
    const auto of_a = [&](int i, int l) {                                                          \
      return static_cast<double>(trans == CUBLAS_OP_N ? a[std::ptrdiff_t{l} * lda + i]             \
                                                      : a[std::ptrdiff_t{i} * lda + l]);           \
    };                                                                                             \
    for (int j = 0; j < n; ++j) {                                                                  \
      for (int i = upper ? 0 : j; i < (upper ? j + 1 : n); ++i) {                                  \
        combine<T>(                                                                                \
            1, 1, *alpha, [&](int, int l) { return of_a(i, l); },                                  \
            [&](int l, int) { return of_a(j, l); }, k, *beta,                                      \
            [&](int, int) -> T& { return c[std::ptrdiff_t{j} * ldc + i]; });                       \
      }                                                                                            \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##symm(                                                             \
      cublasHandle_t, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n, const T* alpha,  \
      const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {                    \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Symmetric<T> of_a{a, lda, uplo == CUBLAS_FILL_MODE_UPPER};                               \
    const Columns<const T> of_b{b, ldb};                                                           \
    const Columns<T> to{c, ldc};                                                                   \
    if (side == CUBLAS_SIDE_LEFT) {                                                                \
      combine<T>(m, n, *alpha, of_a, of_b, m, *beta, to);                                          \
    } else {                                                                                       \
      combine<T>(m, n, *alpha, of_b, of_a, n, *beta, to);                                          \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##trmm(cublasHandle_t, cublasSideMode_t side,                       \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, int m, int n, const T* alpha,         \
                                      const T* a, int lda, const T* b, int ldb, T* c, int ldc) {   \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Triangle<T> of_a(a, lda, uplo, trans, diag);                                             \
    const Columns<const T> of_b{b, ldb};                                                           \
    const Columns<T> to{c, ldc};                                                                   \
    if (side == CUBLAS_SIDE_LEFT) {                                                                \
      combine<T>(m, n, *alpha, of_a, of_b, m, T(0), to);                                           \
    } else {                                                                                       \
      combine<T>(m, n, *alpha, of_b, of_a, n, T(0), to);                                           \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##trsm(                                                             \
      cublasHandle_t, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,       \
      cublasDiagType_t diag, int m, int n, const T* alpha, const T* a, int lda, T* b, int ldb) {   \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const bool left = side == CUBLAS_SIDE_LEFT;                                                    \
    const Columns<T> of_b{b, ldb};                                                                 \
    Triangle<T> of_a(a, lda, uplo, trans, diag);                                                   \
    if (!left) of_a.transposed = !of_a.transposed;                                                 \
    for (int j = 0; j < (left ? n : m); ++j) {                                                     \
      const auto at = [&](int i) -> T& { return left ? of_b(i, j) : of_b(j, i); };                 \
      for (int i = 0; i < (left ? m : n); ++i) at(i) *= *alpha;                                    \
      solve<T>(of_a, left ? m : n, at);                                                            \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##geam(                                                             \
      cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n,            \
      const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {    \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const auto sum = [&](int i, int j) {                                                           \
      const auto part = [](const T* of, int stride, bool plain, int row, int column) {             \
        return of[plain ? std::ptrdiff_t{column} * stride + row                                    \
                        : std::ptrdiff_t{row} * stride + column];                                  \
      };                                                                                           \
      const T first = *alpha == T(0) ? T(0) : *alpha * part(a, lda, transa == CUBLAS_OP_N, i, j);  \
      return *beta == T(0) ? first : first + *beta * part(b, ldb, transb == CUBLAS_OP_N, i, j);    \
    };                                                                                             \
    for (int j = 0; j < n; ++j) {                                                                  \
      for (int i = 0; i < m; ++i) give(&c[std::ptrdiff_t{j} * ldc + i], sum(i, j));                \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##dgmm(cublasHandle_t, cublasSideMode_t side, int m, int n,         \
                                      const T* a, int lda, const T* x, int step_x, T* c,           \
                                      int ldc) {                                                   \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    const Vector<const T> of_x(x, side == CUBLAS_SIDE_LEFT ? m : n, step_x);                       \
    for (int j = 0; j < n; ++j) {                                                                  \
      for (int i = 0; i < m; ++i)                                                                  \
        give(&c[std::ptrdiff_t{j} * ldc + i],                                                      \
             a[std::ptrdiff_t{j} * lda + i] * of_x[side == CUBLAS_SIDE_LEFT ? i : j]);             \
    }                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublasI##small##amax(cublasHandle_t, int n, const T* x, int step_x,               \
                                      int* result) {                                               \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    give(result, first_of(n, Vector<const T>(x, n, step_x), [](T a, T b) { return a > b; }));      \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublasI##small##amin(cublasHandle_t, int n, const T* x, int step_x,               \
                                      int* result) {                                               \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    give(result, first_of(n, Vector<const T>(x, n, step_x), [](T a, T b) { return a < b; }));      \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }
PRENORM_ROUTINES(S, s, float)
PRENORM_ROUTINES(D, d, double)
