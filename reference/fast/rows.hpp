// Maps over rows, slices and elements of tensors, on all cores.
#pragma once

#include "tensor.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <vector>

namespace prenorm::fast {

/// n elements at `data`, not copied, as an xtensor expression of one axis.
template <class C>
auto row_view(C* data, std::size_t n) {
  return xt::adapt(data, n, xt::no_ownership(), std::array<std::size_t, 1>{n});
}

/// Runs work(i) for i in [0, count), on all cores if there is enough work to pay for starting
/// threads. Each i does the same on any thread, so results do not depend on the number of threads.
template <class Work>
void parallel_for(std::size_t count, std::size_t elements, Work work) {
  constexpr std::size_t worth_threads = 1u << 16;
  std::exception_ptr failure;  // an exception must not leave an OpenMP thread
#pragma omp parallel for schedule(guided) if (elements >= worth_threads && count > 1)
  for (std::size_t i = 0; i < count; ++i) {
    try {
      work(i);
    } catch (...) {
#pragma omp critical(prenorm_parallel_for)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// n elements at `data` in the compute type, as an expression of one axis: where they are, or
/// copied into `memory`.
template <class T>
auto wide_row(const T* data, std::size_t n, [[maybe_unused]] std::vector<compute_t<T>>& memory) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    return row_view(data, n);
  } else {
    memory.resize(n);
    for (std::size_t i = 0; i < n; ++i) memory[i] = static_cast<float>(data[i]);
    return row_view(static_cast<const float*>(memory.data()), n);
  }
}

/// Sets y row by row: set(first, b) sets b, the `width` elements from `first` on in the compute
/// type.
template <class T, class Set>
void set_rows(Tensor<T>& y, std::size_t width, Set set) {
  using C = compute_t<T>;
  const std::size_t rows = width == 0 ? 0 : (y.size() + width - 1) / width;
  parallel_for(rows, y.size(), [&](std::size_t row) {
    const std::size_t first = row * width, n = std::min(width, y.size() - first);
    if constexpr (std::is_same_v<T, C>) {
      auto b = row_view(y.data() + first, n);
      set(first, b);
    } else {
      std::vector<C> result(n);
      auto b = row_view(result.data(), n);
      set(first, b);
      for (std::size_t i = 0; i < n; ++i) y.data()[first + i] = static_cast<T>(result[i]);
    }
  });
}

/// y of the shape of x, row by row: formula(a, b) is given a row of x, widened, and sets that of y.
/// A row has `width` elements; a and b are xtensor expressions of one axis.
template <class T, class Formula>
Tensor<T> map_rows(const Tensor<T>& x, std::size_t width, Formula formula) {
  auto y = empty<T>(shape_of(x));
  set_rows(y, width, [&](std::size_t first, auto& b) {
    std::vector<compute_t<T>> memory;
    formula(wide_row(x.data() + first, b.size(), memory), b);
  });
  return y;
}

/// How far apart neighbours along an axis are.
template <class T>
std::size_t distance_along(const Tensor<T>& x, std::size_t axis) {
  std::size_t inner = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  return inner;
}

/// y of the shape of x, slice by slice along an axis: formula(a, b) is given a slice of x, widened,
/// and sets that of y. Both may be the same memory, so b is set element by element.
template <class T, class Formula>
Tensor<T> map_slices(const Tensor<T>& x, std::size_t axis, Formula formula) {
  using C = compute_t<T>;
  const std::size_t n = x.shape(axis), inner = distance_along(x, axis);
  if (inner == 1) return map_rows(x, n, formula);

  auto y = empty<T>(shape_of(x));
  if (x.size() == 0) return y;
  // Neighbouring slices are copied together, each into contiguous memory.
  constexpr std::size_t together = 64;
  const std::size_t parts = (inner + together - 1) / together;
  const std::size_t stride = n + together;  // a power of two would map all to the same cache set
  parallel_for(x.size() / (n * inner) * parts, x.size(), [&](std::size_t job) {
    const std::size_t column = job % parts * together, count = std::min(together, inner - column);
    const std::size_t first = job / parts * n * inner + column;
    std::vector<C> slices(count * stride);
    for (std::size_t i = 0; i < n; ++i) {
      const T* from = x.data() + first + i * inner;
      for (std::size_t s = 0; s < count; ++s) slices[s * stride + i] = static_cast<C>(from[s]);
    }
    for (std::size_t s = 0; s < count; ++s) {
      auto slice = row_view(&slices[s * stride], n);
      formula(slice, slice);
    }
    for (std::size_t i = 0; i < n; ++i) {
      T* to = y.data() + first + i * inner;
      for (std::size_t s = 0; s < count; ++s) to[s] = static_cast<T>(slices[s * stride + i]);
    }
  });
  return y;
}

/// y of the shape of x, by blocks of neighbouring slices along an axis that is not the last:
/// formula(from, to, n, width, stride) is given a block of x, [n, width] with rows `stride` apart,
/// and sets that of y. A block stays in the second-level cache.
template <class T, class Formula>
Tensor<T> map_columns(const Tensor<T>& x, std::size_t axis, Formula formula) {
  auto y = empty<T>(shape_of(x));
  if (x.size() == 0) return y;
  const std::size_t n = x.shape(axis), inner = distance_along(x, axis);
  constexpr std::size_t elements = 1u << 17, of_cache_line = 16;
  const std::size_t most = std::max(elements / n / of_cache_line, std::size_t{1}) * of_cache_line;
  const std::size_t parts = (inner + most - 1) / most;
  parallel_for(x.size() / (n * inner) * parts, x.size(), [&](std::size_t job) {
    const std::size_t column = job % parts * most, first = job / parts * n * inner + column;
    formula(x.data() + first, y.data() + first, n, std::min(most, inner - column), inner);
  });
  return y;
}

/// Elements of which two or three rows fit into the first-level cache.
inline constexpr std::size_t part_of_elements = 2048;

/// Element by element: formula gets part of x, an expression of one axis, and returns that of y.
template <class T, class Formula>
Tensor<T> map_elements(const Tensor<T>& x, Formula formula) {
  return map_rows(x, part_of_elements,
                  [&](const auto& a, auto& b) { xt::noalias(b) = formula(a); });
}

/// The same for two tensors of one shape: formula gets a part of each.
template <class T, class Formula>
Tensor<T> map_elements(const Tensor<T>& x, const Tensor<T>& z, Formula formula) {
  auto y = empty<T>(shape_of(x));
  set_rows(y, part_of_elements, [&](std::size_t first, auto& b) {
    std::vector<compute_t<T>> memory, more;
    xt::noalias(b) = formula(wide_row(x.data() + first, b.size(), memory),
                             wide_row(z.data() + first, b.size(), more));
  });
  return y;
}

}  // namespace prenorm::fast
