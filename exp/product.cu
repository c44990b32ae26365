// Benchmark of the products: checks each variant at odd sizes and times it at large ones.
//   product            all variants, from the safest to the riskiest
//   product NAME...    those whose name begins with one of these
//   product --list     their names
#include "product_mma.cu"
#include "product_wgmma.cu"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;
using B = bfloat16;

namespace {

#define CHECK(call) check(call, #call)

enum class Kind { plain, added, silu, gelu, gate, two };

struct Problem {
  std::int64_t m, n, k;
  const B *x, *w, *w3, *residual;
  B *y, *y2;
};
struct Variant {
  std::string name;
  Kind kind;
  bool k_in_eights, slow;
  std::function<void(const Problem&)> run;
};

// ---- data ---------------------------------------------------------------------------------------

__device__ unsigned mix(unsigned long long z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return static_cast<unsigned>((z ^ z >> 31) >> 16);
}
__global__ void fill_normal(B* to, std::int64_t size, unsigned seed, float scale) {
  for (std::int64_t i = global_thread(); i < size; i += std::int64_t{gridDim.x} * blockDim.x) {
    const unsigned long long z = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
    const float u = (mix(z) + 1.0f) * 0x1p-32f, v = mix(z ^ 0x5851f42d4c957f2dull) * 0x1p-32f;
    to[i] = narrow<B>(scale * sqrtf(-2 * logf(u)) * cospif(2 * v));
  }
}

/// What is wrong with y: a warp checks one output of every step-th row in float64.
struct Wrong {
  unsigned long long outputs, checked;
  float worst;  // error in units of the tolerance
  int row, column;
  float got, right;
};
__global__ void check_outputs(Problem p, Kind kind, std::int64_t step, Wrong* wrong) {
  const std::int64_t rows = (p.m + step - 1) / step;
  const unsigned lane = threadIdx.x % 32;
  for (std::int64_t o = global_thread() / 32; o < rows * p.n;
       o += std::int64_t{gridDim.x} * blockDim.x / 32) {
    const std::int64_t row = o / p.n * step, column = o % p.n;
    double sum[2] = {}, size[2] = {};
    for (int which = 0; which < (kind == Kind::gate || kind == Kind::two ? 2 : 1); ++which) {
      const B* w = which == 0 ? p.w : p.w3;
      for (std::int64_t k = lane; k < p.k; k += 32) {
        const double term = static_cast<double>(widen(p.x[row * p.k + k])) * widen(w[column * p.k + k]);
        sum[which] += term;
        size[which] += fabs(term);
      }
      for (int d = 16; d > 0; d /= 2) {
        sum[which] += __shfl_xor_sync(~0u, sum[which], d);
        size[which] += __shfl_xor_sync(~0u, size[which], d);
      }
    }
    if (lane != 0) continue;
    double right = sum[0], room = 4e-6 * size[0];
    if (kind == Kind::added) right += widen(p.residual[row * p.n + column]);
    if (kind == Kind::silu || kind == Kind::gate) right = right / (1 + exp(-right));
    if (kind == Kind::gelu) right = right * 0.5 * erfc(-right / sqrt(2.0));
    if (kind == Kind::gate) {
      room = room * 1.1 * fabs(sum[1]) + fabs(right) * 4e-6 * size[1];
      right *= sum[1];
    }
    const float got = widen(p.y[row * p.n + column]);
    double off = fabs(got - right) / (fabs(right) * 0x1.08p-8 + room * 1.1 + 1e-30);
    if (kind == Kind::two) {
      off = fmax(off, fabs(widen(p.y2[row * p.n + column]) - sum[1]) /
                          (fabs(sum[1]) * 0x1.08p-8 + 4e-6 * size[1] + 1e-30));
    }
    atomicAdd(&wrong->checked, 1ull);
    if (off <= 1) {
      atomicMax(reinterpret_cast<int*>(&wrong->worst), __float_as_int(static_cast<float>(off)));
    } else if (atomicAdd(&wrong->outputs, 1ull) == 0) {
      wrong->row = static_cast<int>(row), wrong->column = static_cast<int>(column);
      wrong->got = got, wrong->right = static_cast<float>(right);
    }
  }
}
__global__ void check_poison(const unsigned* from, int words, Wrong* wrong) {
  for (int i = threadIdx.x; i < words; i += blockDim.x) {
    if (from[i] == 0xffffffffu) continue;
    if (atomicAdd(&wrong->outputs, 1ull) == 0) wrong->row = wrong->column = -1;
  }
}
__global__ void count_differences(const B* a, const B* b, std::int64_t size, unsigned* count) {
  const std::int64_t i = global_thread();
  if (i < size && a[i].bits != b[i].bits) atomicAdd(count, 1u);
}

// ---- memory, waiting ----------------------------------------------------------------------------

constexpr std::size_t guard = 4096;  // bytes of poison after y

template <class T>
T* get(std::size_t count) {
  void* at = nullptr;
  CHECK(cudaMalloc(&at, count * sizeof(T) + 2 * guard));
  return static_cast<T*>(at);
}

/// Waits for the device, but not for ever: a kernel that hangs ends the program.
void wait_done(const std::string& what) {
  static cudaEvent_t event = [] {
    cudaEvent_t e;
    CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
  }();
  CHECK(cudaEventRecord(event));
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check(status, what);
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(6)) {
      std::printf("%s: HANGS; the rest is not run\n", what.c_str());
      std::fflush(stdout);
      _exit(3);
    }
    usleep(20);
  }
}

struct Buffers {
  std::vector<Problem> sets;
  std::vector<void*> all;
  Buffers(std::int64_t m, std::int64_t n, std::int64_t k, int count) {
    for (int i = 0; i < count; ++i) {
      const auto make = [&](std::int64_t size, unsigned seed, double scale) {
        B* at = get<B>(static_cast<std::size_t>(size));
        all.push_back(at);
        if (seed != 0) {
          fill_normal<<<1024, 256>>>(at, size, seed + 10 * static_cast<unsigned>(i),
                                     static_cast<float>(scale));
        }
        return at;
      };
      const double scale = 1 / std::sqrt(static_cast<double>(k));
      Problem p{m, n, k, make(m * k, 1, 1), make(n * k, 2, scale), make(n * k, 3, scale),
                make(m * n, 4, 1), make(m * n, 0, 0), make(m * n, 0, 0)};
      sets.push_back(p);
    }
    wait_done("filling");
  }
  ~Buffers() {
    for (void* at : all) cudaFree(at);
  }
};

// ---- checks -------------------------------------------------------------------------------------

Wrong* device_wrong;

Wrong check_one(const Variant& v, Problem p, std::int64_t step) {
  const std::size_t bytes = static_cast<std::size_t>(p.m * p.n) * sizeof(B);
  CHECK(cudaMemsetAsync(p.y, 0xff, bytes + guard));
  CHECK(cudaMemsetAsync(p.y2, 0xff, bytes + guard));
  CHECK(cudaMemsetAsync(device_wrong, 0, sizeof(Wrong)));
  v.run(p);
  CHECK(cudaGetLastError());
  wait_done(v.name);
  check_outputs<<<1024, 256>>>(p, v.kind, step, device_wrong);
  const auto after = (reinterpret_cast<std::uintptr_t>(p.y) + bytes + 3) / 4 * 4;
  check_poison<<<1, 256>>>(reinterpret_cast<const unsigned*>(after), (guard - 4) / 4, device_wrong);
  Wrong wrong;
  CHECK(cudaMemcpy(&wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  return wrong;
}

/// At odd sizes; returns whether all is right.
bool check_small(const Variant& v) {
  const std::int64_t sizes[] = {1, 7, 64, 100, 127, 128, 129, 200, 256, 300, 520};
  const std::int64_t any[] = {1, 7, 64, 100, 127, 129, 300}, eights[] = {8, 64, 104, 128, 264, 328};
  std::vector<std::int64_t> terms(std::begin(any), std::end(any));
  if (v.k_in_eights) terms.assign(std::begin(eights), std::end(eights));
  static Buffers buffers(520, 520, 520, 1);
  int bad = 0, cases = 0;
  float worst = 0;
  for (const auto m : sizes) {
    for (const auto n : sizes) {
      for (const auto k : terms) {
        if (v.kind != Kind::plain && (m + n + k) % 3 == 0) continue;
        Problem p = buffers.sets[0];
        p.m = m, p.n = n, p.k = k;
        const Wrong wrong = check_one(v, p, 1);
        ++cases;
        worst = std::max(worst, wrong.worst);
        if (wrong.outputs == 0 && wrong.checked == static_cast<unsigned long long>(m * n)) continue;
        if (++bad <= 3) {
          std::printf("  %s: WRONG at %ld x %ld x %ld: %llu of %llu, first at %d %d: %g for %g\n",
                      v.name.c_str(), m, n, k, wrong.outputs, wrong.checked, wrong.row,
                      wrong.column, wrong.got, wrong.right);
        }
      }
    }
  }
  // A row alone has the bits that it has among others.
  unsigned *count = reinterpret_cast<unsigned*>(device_wrong), different = 0;
  Problem all = buffers.sets[0], few = all;
  all.m = 300, all.n = 264, all.k = 520;
  few = all;
  few.m = 5;
  few.y = all.y2;
  if (v.kind != Kind::two) {
    CHECK(cudaMemset(count, 0, 4));
    v.run(all);
    v.run(few);
    wait_done(v.name);
    count_differences<<<10, 256>>>(all.y, few.y, 5 * 264, count);
    CHECK(cudaMemcpy(&different, count, 4, cudaMemcpyDeviceToHost));
  }
  std::printf("%-26s odd sizes: %d of %d %s, worst %.2f of the tolerance; %s\n", v.name.c_str(),
              cases - bad, cases, bad == 0 ? "ok" : "WRONG", worst,
              different == 0 ? "a row's bits are the same in a batch" : "BITS DIFFER in a batch");
  std::fflush(stdout);
  return bad == 0;
}

// ---- times --------------------------------------------------------------------------------------

struct Shape_ {
  const char* name;
  std::int64_t m, n, k;
};

void time_one(const Variant& v, const Shape_& s, Buffers& buffers, bool right) {
  const std::int64_t step = std::max<std::int64_t>(1, s.m / 13);
  const Wrong wrong = check_one(v, buffers.sets[0], step);
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  std::size_t turn = 0;
  const auto next = [&] { v.run(buffers.sets[turn++ % buffers.sets.size()]); };
  next();
  CHECK(cudaEventRecord(from));
  next();
  CHECK(cudaEventRecord(to));
  wait_done(v.name);
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, from, to));
  const int samples = 20, each = ms > 1 ? 1 : 3;
  std::vector<cudaEvent_t> events(samples + 1);
  for (auto& e : events) CHECK(cudaEventCreate(&e));
  for (int i = 0; i < 2; ++i) next();
  CHECK(cudaEventRecord(events[0]));
  for (int i = 1; i <= samples; ++i) {
    for (int j = 0; j < each; ++j) next();
    CHECK(cudaEventRecord(events[static_cast<std::size_t>(i)]));
  }
  wait_done(v.name);
  std::vector<float> times;
  for (std::size_t i = 1; i < events.size(); ++i) {
    CHECK(cudaEventElapsedTime(&ms, events[i - 1], events[i]));
    times.push_back(ms / each);
  }
  for (auto e : events) cudaEventDestroy(e);
  cudaEventDestroy(from);
  cudaEventDestroy(to);
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2],
               products = v.kind == Kind::gate || v.kind == Kind::two ? 2 : 1,
               flops = products * 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) *
                       static_cast<double>(s.k);
  const bool ok = wrong.outputs == 0 && wrong.checked > 0;
  std::printf("%-26s %-18s %9.1f us  (least %9.1f) %7.1f TFLOP/s  %s%s\n", v.name.c_str(), s.name,
              1e3 * median, 1e3 * times[0], flops / (median * 1e9), ok ? "ok" : "WRONG",
              right ? "" : " (WRONG at odd sizes)");
  if (!ok) {
    std::printf("  %llu of %llu, first at %d %d: %g for %g\n", wrong.outputs, wrong.checked,
                wrong.row, wrong.column, wrong.got, wrong.right);
  }
  std::fflush(stdout);
}

// ---- variants -----------------------------------------------------------------------------------

Product<B> product_of(const Problem& p, bool add = false) {
  return {"product", p.x, p.w, p.y, p.m, p.n, p.k, add ? p.residual : nullptr};
}

template <class Ending, int columns, int stages, int cluster>
Variant v5(const char* name, Kind kind, int group) {
  return {"v5 " + std::to_string(columns) + "x" + std::to_string(stages) + " c" +
              std::to_string(cluster) + " g" + std::to_string(group) + " " + name,
          kind, true, false, [=](const Problem& p) {
            using S = product_v5::Shape<columns, stages, cluster>;
            const auto once = [&](const Problem& q) {
              if (!product_v5::multiply_wgmma<Ending, S>(product_of(q, Ending::adds), q.w3, group,
                                                         Stream{})) {
                throw std::runtime_error("refused");
              }
            };
            once(p);
            if (kind != Kind::two) return;
            Problem other = p;
            other.w = p.w3;
            other.y = p.y2;
            once(other);
          }};
}

std::vector<Variant> variants() {
  using namespace product_v5;
  std::vector<Variant> all;
  const auto add = [&](const char* name, Kind kind, bool slow, auto run) {
    all.push_back({name, kind, false, slow, run});
  };
  add("v3 registers", Kind::plain, true,
      [](const Problem& p) { product_registers(product_of(p), Stream{}); });
  add("v4 4 warps x4", Kind::plain, false,
      [](const Problem& p) { product_mma<4, 4>(product_of(p), Stream{}); });
  add("v4 8 warps x4", Kind::plain, false,
      [](const Problem& p) { product_mma<8, 4>(product_of(p), Stream{}); });
  add("v4 4 warps x3", Kind::plain, false,
      [](const Problem& p) { product_mma<4, 3>(product_of(p), Stream{}); });
  add("v4 4 warps x4 residual", Kind::added, false,
      [](const Problem& p) { product_mma<4, 4>(product_of(p, true), Stream{}); });
  all.push_back(v5<Plain, 256, 4, 1>("", Kind::plain, 16));
  all.push_back(v5<Plain, 256, 4, 1>("", Kind::plain, 8));
  all.push_back(v5<Plain, 256, 4, 1>("", Kind::plain, 32));
  all.push_back(v5<Plain, 256, 3, 1>("", Kind::plain, 16));
  all.push_back(v5<Plain, 128, 6, 1>("", Kind::plain, 16));
  all.push_back(v5<Added, 256, 4, 1>("residual", Kind::added, 16));
  all.push_back(v5<Activated<Silu>, 256, 4, 1>("silu", Kind::silu, 16));
  all.push_back(v5<Activated<Gelu>, 256, 4, 1>("gelu", Kind::gelu, 16));
  all.push_back(v5<Gated<Silu>, 256, 4, 1>("gate", Kind::gate, 16));
  all.push_back(v5<Plain, 256, 4, 1>("two", Kind::two, 16));
  all.push_back(v5<Plain, 256, 4, 2>("", Kind::plain, 16));
  all.push_back(v5<Plain, 256, 4, 2>("", Kind::plain, 8));
  all.push_back(v5<Plain, 256, 4, 2>("", Kind::plain, 32));
  all.push_back(v5<Plain, 256, 3, 2>("", Kind::plain, 16));
  all.push_back(v5<Plain, 128, 6, 2>("", Kind::plain, 16));
  all.push_back(v5<Added, 256, 4, 2>("residual", Kind::added, 16));
  all.push_back(v5<Activated<Silu>, 256, 4, 2>("silu", Kind::silu, 16));
  all.push_back(v5<Activated<Gelu>, 256, 4, 2>("gelu", Kind::gelu, 16));
  all.push_back(v5<Gated<Silu>, 256, 4, 2>("gate", Kind::gate, 16));
  all.push_back(v5<Plain, 256, 4, 2>("two", Kind::two, 16));
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<Variant> all = variants();
  std::vector<Variant> wanted;
  for (const Variant& v : all) {
    if (count == 2 && std::string(arguments[1]) == "--list") std::printf("%s\n", v.name.c_str());
    bool is = count == 1;
    for (int i = 1; i < count; ++i) is = is || v.name.rfind(arguments[i], 0) == 0;
    if (is) wanted.push_back(v);
  }
  try {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::printf("%s, %d multiprocessors\n", device.name, device.multiProcessorCount);
    device_wrong = get<Wrong>(1);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  const auto guarded = [&](const Variant& v, auto work) {
    try {
      work();
      return true;
    } catch (const std::exception& e) {
      std::printf("%-26s FAILED: %s\n", v.name.c_str(), e.what());
      if (cudaDeviceSynchronize() != cudaSuccess) {
        std::printf("the context is lost; the rest is not run\n");
        std::fflush(stdout);
        _exit(2);
      }
      return false;
    }
  };
  std::vector<bool> right(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Variant& v = wanted[i];
    bool known = false;  // another group alone is checked at large sizes
    for (std::size_t j = 0; j < i && !known; ++j) {
      const auto stem = [](const std::string& name) {
        return name.substr(0, name.find(" g")) + name.substr(name.find_last_of(' '));
      };
      if (v.name.rfind("v5", 0) == 0 && stem(v.name) == stem(wanted[j].name)) {
        known = true;
        right[i] = right[j];
      }
    }
    if (!known) guarded(v, [&] { right[i] = check_small(v); });
  }
  const Shape_ shapes[] = {{"4096^3", 4096, 4096, 4096},
                           {"8192^3", 8192, 8192, 8192},
                           {"8192x14336x4096", 8192, 14336, 4096},
                           {"16384x3072x768", 16384, 3072, 768}};
  for (const Shape_& s : shapes) {
    try {
      const std::int64_t bytes = 2 * (s.m * s.k + s.n * s.k + s.m * s.n);
      Buffers buffers(s.m, s.n, s.k, static_cast<int>((std::int64_t{200} << 20) / bytes) + 2);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Variant& v = wanted[i];
        if (v.slow && s.m * s.n * s.k > std::int64_t{1} << 37) continue;
        guarded(v, [&] { time_one(v, s, buffers, right[i]); });
      }
    } catch (const std::exception& e) {
      std::printf("%s: %s\n", s.name, e.what());
      return 2;
    }
  }
  return 0;
}
