// A small network trained, in classes: layers behind an interface, matrices that share their
// memory, exceptions for errors of CUDA, initialization on the host.
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include "check.h"

class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  static void throw_if(const std::string& what) {
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
      throw CudaError(what + ": " + cudaGetErrorString(error));
  }
};

struct Shape {
  size_t x, y;
  Shape(size_t x = 1, size_t y = 1) : x(x), y(y) {}
};

class Matrix {
 public:
  Shape shape;
  explicit Matrix(Shape shape = {}) : shape(shape), host(new float[shape.x * shape.y]()) {
    float* memory = nullptr;
    cudaMalloc(&memory, bytes());
    cudaMemset(memory, 0, bytes());
    CudaError::throw_if("no memory");
    device = std::shared_ptr<float>(memory, [](float* each) { cudaFree(each); });
  }
  void to_device() { cudaMemcpy(device.get(), host.get(), bytes(), cudaMemcpyHostToDevice); }
  void to_host() { cudaMemcpy(host.get(), device.get(), bytes(), cudaMemcpyDeviceToHost); }
  float& operator[](size_t i) { return host.get()[i]; }
  float* data() const { return device.get(); }

 private:
  size_t bytes() const { return shape.x * shape.y * sizeof(float); }
  std::shared_ptr<float> device;
  std::shared_ptr<float[]> host;
};

__global__ void linear_forward(float* W, float* A, float* Z, float* b, int inputs, int outputs,
                               int rows) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y,
            col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || col >= outputs) return;
  float value = b[col];
  for (int i = 0; i < inputs; i++) value += A[row * inputs + i] * W[i * outputs + col];
  Z[row * outputs + col] = value;
}
__global__ void linear_backward(float* W, float* dZ, float* dA, int inputs, int outputs, int rows) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y,
            col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || col >= inputs) return;
  float value = 0.0f;
  for (int i = 0; i < outputs; i++) value += dZ[row * outputs + i] * W[col * outputs + i];
  dA[row * inputs + col] = value;
}
__global__ void update(float* W, float* b, const float* A, const float* dZ, int inputs, int outputs,
                       int rows, float rate) {
  const int in = blockIdx.y * blockDim.y + threadIdx.y, out = blockIdx.x * blockDim.x + threadIdx.x;
  if (in > inputs || out >= outputs) return;
  float gradient = 0;
  for (int row = 0; row < rows; ++row)
    gradient += (in < inputs ? A[row * inputs + in] : 1.0f) * dZ[row * outputs + out];
  (in < inputs ? W[in * outputs + out] : b[out]) -= rate * gradient / rows;
}

namespace activation {
struct Tanh {
  __device__ static float value(float x) { return tanhf(x); }
  __device__ static float slope(float y) { return 1 - y * y; }
};
struct Sigmoid {
  __device__ static float value(float x) { return 1.0f / (1 + __expf(-x)); }
  __device__ static float slope(float y) { return y * (1 - y); }
};
}  // namespace activation

template <class F>
__global__ void activate(const float* Z, float* A, int n) {
  if (const int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) A[i] = F::value(Z[i]);
}
template <class F>
__global__ void activate_backward(const float* A, const float* dA, float* dZ, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    dZ[i] = dA[i] * F::slope(A[i]);
}

struct Layer {
  virtual ~Layer() = default;
  virtual Matrix& forward(Matrix& A) = 0;
  virtual Matrix& backward(Matrix& dZ, float rate) = 0;
};

class Linear : public Layer {
 public:
  Linear(Shape shape) : W(shape), b(Shape(1, shape.y)) {
    static std::default_random_engine generator(7);
    std::normal_distribution<float> normal(0, 0.7f);
    for (size_t i = 0; i < shape.x * shape.y; i++) W[i] = normal(generator);
    W.to_device();
  }
  Matrix& forward(Matrix& A) override {
    this->A = A;
    Z = Matrix(Shape(A.shape.x, W.shape.y));
    linear_forward<<<grid(Z.shape), block>>>(W.data(), A.data(), Z.data(), b.data(), W.shape.x,
                                             W.shape.y, A.shape.x);
    CudaError::throw_if("linear_forward");
    return Z;
  }
  Matrix& backward(Matrix& dZ, float rate) override {
    dA = Matrix(A.shape);
    const int inputs = W.shape.x, outputs = W.shape.y, rows = A.shape.x;
    linear_backward<<<grid(dA.shape), block>>>(W.data(), dZ.data(), dA.data(), inputs, outputs,
                                               rows);
    update<<<grid({W.shape.x + 1, W.shape.y}), block>>>(W.data(), b.data(), A.data(), dZ.data(),
                                                        inputs, outputs, rows, rate);
    CudaError::throw_if("linear_backward");
    return dA;
  }

 private:
  const dim3 block{8, 8};
  dim3 grid(const Shape& s) const {
    return dim3((s.y + block.x - 1) / block.x, (s.x + block.y - 1) / block.y);
  }
  Matrix W, b, A, Z, dA;
};

template <class F>
class Activation : public Layer {
 public:
  Matrix& forward(Matrix& Z) override {
    const int n = Z.shape.x * Z.shape.y;
    A = Matrix(Z.shape);
    activate<F><<<(n + 63) / 64, 64>>>(Z.data(), A.data(), n);
    return A;
  }
  Matrix& backward(Matrix& dA, float) override {
    dZ = Matrix(dA.shape);
    activate_backward<F><<<1, 64>>>(A.data(), dA.data(), dZ.data(), dA.shape.x * dA.shape.y);
    return dZ;
  }

 private:
  Matrix A, dZ;
};

int main() try {
  const int rows = 16;
  Matrix X(Shape(rows, 2)), error(Shape(rows, 1));
  std::vector<float> wanted(rows);
  for (int i = 0; i < rows; ++i) {
    X[2 * i] = i % 2, X[2 * i + 1] = i / 2 % 2;
    wanted[i] = i % 2 != i / 2 % 2;  // exclusive or
  }
  X.to_device();
  std::vector<std::unique_ptr<Layer>> layers;
  layers.emplace_back(new Linear(Shape(2, 8)));
  layers.push_back(std::make_unique<Activation<activation::Tanh>>());
  layers.emplace_back(new Linear(Shape(8, 1)));
  layers.push_back(std::make_unique<Activation<activation::Sigmoid>>());
  std::vector<float> answers(rows);
  for (int epoch = 0; epoch < 150; epoch++) {
    Matrix* Y = &X;
    for (auto& layer : layers) Y = &layer->forward(*Y);
    Y->to_host();
    for (int i = 0; i < rows; i++) answers[i] = (*Y)[i], error[i] = 2 * (answers[i] - wanted[i]);
    error.to_device();
    Matrix* gradient = &error;
    for (auto it = layers.rbegin(); it != layers.rend(); ++it)
      gradient = &(*it)->backward(*gradient, 2.0f);
  }
  for (float& answer : answers) answer = answer > 0.5f;
  expect("exclusive or", answers, wanted, 0);
} catch (const CudaError& error) {
  fprintf(stderr, "%s\n", error.what());
  return 2;
}
