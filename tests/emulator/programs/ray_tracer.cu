// A ray tracer: a class of vectors with operators for both sides, objects with virtual functions
// that a kernel makes by new and deletes, and a random generator for each pixel.
#include <curand_kernel.h>
#include <cfloat>
#include <iostream>
#include "check.h"

#define checkCudaErrors(val) check_cuda((val), #val, __FILE__, __LINE__)
void check_cuda(cudaError_t result, char const* const func, const char* const file,
                int const line) {
  if (result) {
    std::cerr << "CUDA error = " << static_cast<unsigned int>(result) << " at " << file << ":"
              << line << " '" << func << "' \n";
    cudaDeviceReset();
    exit(99);
  }
}

class vec3 {
 public:
  __host__ __device__ vec3() {}
  __host__ __device__ vec3(float e0, float e1, float e2) : e{e0, e1, e2} {}
  __host__ __device__ inline const vec3& operator+() const { return *this; }
  __host__ __device__ inline vec3 operator-() const { return vec3(-e[0], -e[1], -e[2]); }
  __host__ __device__ inline float operator[](int i) const { return e[i]; }
  __host__ __device__ inline float& operator[](int i) { return e[i]; }
  __host__ __device__ inline vec3& operator+=(const vec3& v);
  __host__ __device__ inline float length() const {
    return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
  }
  float e[3];
};
__host__ __device__ inline vec3 operator+(const vec3& a, const vec3& b) {
  return vec3(a[0] + b[0], a[1] + b[1], a[2] + b[2]);
}
__host__ __device__ inline vec3 operator-(const vec3& a, const vec3& b) { return a + -b; }
__host__ __device__ inline vec3 operator*(float t, const vec3& v) {
  return vec3(t * v[0], t * v[1], t * v[2]);
}
__host__ __device__ inline float dot(const vec3& a, const vec3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__host__ __device__ inline vec3& vec3::operator+=(const vec3& v) { return *this = *this + v; }

class ray {
 public:
  __device__ ray(const vec3& a, const vec3& b) : A(a), B(b) {}
  __device__ vec3 at(float t) const { return A + t * B; }
  vec3 A, B;
};

class hitable {
 public:
  __device__ virtual ~hitable() {}
  __device__ virtual bool hit(const ray& r, float t_min, float& t, vec3& normal) const = 0;
};

class sphere : public hitable {
 public:
  __device__ sphere(vec3 cen, float r) : center(cen), radius(r) {}
  __device__ virtual bool hit(const ray& r, float t_min, float& t, vec3& normal) const override {
    vec3 oc = r.A - center;
    float a = dot(r.B, r.B), b = dot(oc, r.B), c = dot(oc, oc) - radius * radius;
    float discriminant = b * b - a * c;
    if (discriminant <= 0) return false;
    float root = (-b - sqrtf(discriminant)) / a;
    if (root <= t_min || root >= t) return false;
    t = root;
    normal = (1.0f / radius) * (r.at(t) - center);
    return true;
  }

 private:
  vec3 center;
  float radius;
};

class hitable_list : public hitable {
 public:
  __device__ hitable_list(hitable** l, int n) : list(l), list_size(n) {}
  __device__ bool hit(const ray& r, float t_min, float& t, vec3& normal) const {
    bool any = false;
    for (int i = 0; i < list_size; i++) any |= list[i]->hit(r, t_min, t, normal);
    return any;
  }
  hitable** list;
  int list_size;
};

__global__ void create_world(hitable** d_list, hitable** d_world) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *(d_list) = new sphere(vec3(0, 0, -1), 0.5);
    *(d_list + 1) = new sphere(vec3(0, -100.5, -1), 100);
    *d_world = new hitable_list(d_list, 2);
  }
}
__global__ void free_world(hitable** d_list, hitable** d_world) {
  delete d_list[0], delete d_list[1];
  delete *d_world;
}

__global__ void render_init(int max_x, int max_y, curandState* rand_state) {
  int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
  if ((i >= max_x) || (j >= max_y)) return;
  curand_init(1984, j * max_x + i, 0, &rand_state[j * max_x + i]);
}

__global__ void render(vec3* fb, int max_x, int max_y, int ns, hitable** world,
                       curandState* states) {
  int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
  if ((i >= max_x) || (j >= max_y)) return;
  curandState local = states[j * max_x + i];
  vec3 col(0, 0, 0);
  for (int s = 0; s < ns; s++) {
    float u = float(i + curand_uniform(&local)) / float(max_x);
    float v = float(j + curand_uniform(&local)) / float(max_y);
    ray r(vec3(0, 0, 0), vec3(-2 + 4 * u, -1 + 2 * v, -1));
    float t = FLT_MAX;
    vec3 normal;
    if ((*world)->hit(r, 0.0f, t, normal))
      col += 0.5f * (normal + vec3(1, 1, 1));
    else
      col += vec3(1, 1, 1);
  }
  fb[j * max_x + i] = 1.0f / float(ns) * col;
}

int main() {
  int nx = 40, ny = 20, ns = 3;
  vec3* fb;
  checkCudaErrors(cudaMallocManaged((void**)&fb, nx * ny * sizeof(vec3)));
  curandState* d_states;
  checkCudaErrors(cudaMalloc((void**)&d_states, nx * ny * sizeof(curandState)));
  hitable **d_list, **d_world;
  checkCudaErrors(cudaMalloc((void**)&d_list, 2 * sizeof(hitable*)));
  checkCudaErrors(cudaMalloc((void**)&d_world, sizeof(hitable*)));
  create_world<<<1, 1>>>(d_list, d_world);
  checkCudaErrors(cudaGetLastError());
  dim3 blocks(nx / 8 + 1, ny / 8 + 1), threads(8, 8);
  render_init<<<blocks, threads>>>(nx, ny, d_states);
  render<<<blocks, threads>>>(fb, nx, ny, ns, d_world, d_states);
  checkCudaErrors(cudaGetLastError());
  checkCudaErrors(cudaDeviceSynchronize());
  // The middle shows the small sphere's front, the lowest row the large one's top, the highest sky.
  const vec3 middle = fb[ny / 2 * nx + nx / 2], low = fb[nx / 2], sky = fb[(ny - 1) * nx + 1];
  expect("the middle", std::vector<float>(middle.e, middle.e + 3), std::vector<float>{.5, .5, 1},
         0.15);
  expect("the ground", std::vector<float>(low.e, low.e + 3), std::vector<float>{.5, 1, .5}, 0.15);
  expect("the sky", std::vector<float>(sky.e, sky.e + 3), std::vector<float>{1, 1, 1}, 0);
  free_world<<<1, 1>>>(d_list, d_world);
  checkCudaErrors(cudaDeviceSynchronize());
  for (void* each : {(void*)d_list, (void*)d_world, (void*)d_states, (void*)fb})
    checkCudaErrors(cudaFree(each));
  return cudaDeviceReset();
}
