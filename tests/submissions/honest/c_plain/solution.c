/* Plain C and the C interface alone: float32 and float64; 16-bit types are not implemented. */
#include <prenorm/prenorm.h>

#include <math.h>
#include <stdio.h>

PRENORM_API int prenorm_abi(void) { return PRENORM_ABI; }
PRENORM_API int prenorm_device(void) { return kDLCPU; }

static int64_t size_of(const DLTensor* tensor) {
  int64_t size = 1;
  for (int axis = 0; axis < tensor->ndim; ++axis) size *= tensor->shape[axis];
  return size;
}

static int is_float(const DLTensor* tensor, int bits) {
  return tensor->dtype.code == kDLFloat && tensor->dtype.bits == bits;
}

static int refuse(const prenorm_call* call, const char* message) {
  snprintf(call->error, call->error_size, "%s", message);
  return PRENORM_ERROR;
}

/* rmsnorm of one row, in the arithmetic of its type. */
#define RMSNORM_ROW(T, square_root)                                                             \
  static void rmsnorm_row_##T(const T* x, const T* weight, T* y, int64_t d_model, double eps) { \
    T squares = 0;                                                                              \
    for (int64_t j = 0; j < d_model; ++j) squares += x[j] * x[j];                               \
    const T rms = square_root(squares / (T)d_model + (T)eps);                                   \
    for (int64_t j = 0; j < d_model; ++j) y[j] = x[j] / rms * weight[j];                        \
  }
RMSNORM_ROW(float, sqrtf)
RMSNORM_ROW(double, sqrt)

PRENORM_API int prenorm_rmsnorm(const prenorm_call* call) {
  const DLTensor *x = call->inputs[0], *weight = call->inputs[1], *y = call->outputs[0];
  const int64_t d_model = weight->shape[0], size = size_of(x);
  const double eps = call->scalars[0].value.f;
  if (!is_float(y, 32) && !is_float(y, 64)) return PRENORM_NOT_IMPLEMENTED;
  for (int64_t row = 0; row < size; row += d_model) {
    if (is_float(y, 32)) {
      rmsnorm_row_float((const float*)x->data + row, (const float*)weight->data,
                        (float*)y->data + row, d_model, eps);
    } else {
      rmsnorm_row_double((const double*)x->data + row, (const double*)weight->data,
                         (double*)y->data + row, d_model, eps);
    }
  }
  return PRENORM_OK;
}

/* relu keeps NaN: a comparison with it is false. */
PRENORM_API int prenorm_relu(const prenorm_call* call) {
  const DLTensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t size = size_of(x);
  if (is_float(y, 32)) {
    const float* from = x->data;
    float* to = y->data;
    for (int64_t i = 0; i < size; ++i) to[i] = from[i] < 0 ? 0 : from[i];
  } else if (is_float(y, 64)) {
    const double* from = x->data;
    double* to = y->data;
    for (int64_t i = 0; i < size; ++i) to[i] = from[i] < 0 ? 0 : from[i];
  } else {
    return PRENORM_NOT_IMPLEMENTED;
  }
  return PRENORM_OK;
}

/* Rows are copied as bytes: every element type is the same to it. */
PRENORM_API int prenorm_embedding(const prenorm_call* call) {
  const DLTensor *ids = call->inputs[0], *weight = call->inputs[1], *y = call->outputs[0];
  const int64_t count = size_of(ids), rows = weight->shape[0];
  const int64_t row_bytes = weight->shape[1] * (weight->dtype.bits / 8);
  const char* from = weight->data;
  char* to = y->data;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ((const int64_t*)ids->data)[i];
    if (id < 0 || id >= rows) return refuse(call, "embedding: no such token id");
    for (int64_t b = 0; b < row_bytes; ++b) to[i * row_bytes + b] = from[id * row_bytes + b];
  }
  return PRENORM_OK;
}
