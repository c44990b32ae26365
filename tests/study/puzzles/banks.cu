__global__ void banks(const float* x, float* y) {
  __shared__ float tile[32][33];
  const int i = threadIdx.y, j = threadIdx.x;
  tile[i][j] = x[32 * i + j];
  __syncthreads();
  y[32 * i + j] = tile[j][i];
}
