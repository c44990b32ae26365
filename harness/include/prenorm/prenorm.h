/* prenorm.h: the C interface between the harness and a solution.
 *
 * A solution is a shared library. For each problem that it solves it exports
 *
 *     int prenorm_<problem>(const prenorm_call* call);        e.g. prenorm_rmsnorm
 *
 * and once
 *
 *     int prenorm_abi(void);              must return PRENORM_ABI
 *     int prenorm_device(void);           a DLDeviceType: kDLCPU, kDLCUDA, ...
 *     const char* prenorm_mode(void);     optional; "tf32": judged by the tf32 tolerances
 *     const char* prenorm_sources(void);  optional; a digest (SHA-256, hexadecimal) of the sources
 *                                         that it was compiled from; a device record stores it
 *     const char* prenorm_counts(void);   optional; JSON: what kernels did to memory since its last
 *                                         call (docs/profile.md); a library that is linked with the
 *                                         counting emulator has it
 *
 * A library that is linked with the CUDA emulator for submissions also has
 *
 *     void prenorm_watch(const prenorm_call* call);   called before each call: kernels may access
 *                                                     its tensors, and nothing near them, and the
 *                                                     host none of them; after it with NULL
 *     const char* prenorm_finding(void);              what a kernel did wrong since then, or ""
 *     int prenorm_found_out_of_bounds(void);          whether that was an access out of bounds
 *     int64_t prenorm_launches(void);                 how many kernels were launched since then
 *
 * Several versions of one problem are exported as prenorm_<problem>__<variant>. What a problem
 * computes, and the order of its tensors and scalars, is its signature: `prenorm show PROBLEM`.
 */
#ifndef PRENORM_PRENORM_H
#define PRENORM_PRENORM_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. */
#define PRENORM_ABI 1

/* What a solution's function returns; any other value counts as PRENORM_ERROR.
 *   PRENORM_ERROR            the arguments are wrong, or the work failed: say why in error
 *   PRENORM_NOT_IMPLEMENTED  as if the function, or its code for this dtype, were absent
 */
#define PRENORM_OK 0
#define PRENORM_ERROR 1
#define PRENORM_NOT_IMPLEMENTED 2

#define PRENORM_API __attribute__((visibility("default")))

typedef enum prenorm_kind { PRENORM_INT = 0, PRENORM_FLOAT = 1, PRENORM_BOOL = 2 } prenorm_kind;

/* One scalar argument; kind says which member of the union holds it. */
typedef struct prenorm_scalar {
  int32_t kind; /* a prenorm_kind */
  union {
    int64_t i;
    double f;
    int32_t b; /* 0 or 1 */
  } value;
} prenorm_scalar;

/* One call of a problem.
 *
 * Tensors are compact and row-major: strides are filled in, byte_offset is 0, data is never NULL
 * and is aligned to 256 bytes. A bool tensor is unsigned 8 bits (kDLUInt, 8), each 0 or 1; int64
 * is (kDLInt, 64); float16, float32, float64 are (kDLFloat, bits); bfloat16 is (kDLBfloat, 16).
 * A tensor may be empty, and may have no axis at all.
 *
 * Inputs must be left as they are; every element of every output must be written.
 */
typedef struct prenorm_call {
  const DLTensor* const* inputs; /* in signature order; NULL for an absent optional one */
  int32_t num_inputs;
  int32_t num_scalars;
  const prenorm_scalar* scalars; /* in signature order, defaults filled in */
  DLTensor* const* outputs;      /* in signature order, allocated by the caller */
  int32_t num_outputs;
  void* stream;      /* a cudaStream_t for device tensors: all work goes there, and need not be
                      * waited for; else NULL */
  char* error;       /* where to write a message, ended by a 0 byte */
  size_t error_size; /* bytes that fit there, the 0 included */
} prenorm_call;

typedef int (*prenorm_function)(const prenorm_call* call);

#ifdef __cplusplus
}
#endif

#endif
