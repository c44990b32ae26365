__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const int i = threadIdx.y, j = threadIdx.x;
  const int row = 16 * blockIdx.y + i, column = 16 * blockIdx.x + j;
  float sum = 0;
  for (int first = 0; first < 64; first += 16) {
    tile_a[i][j] = a[64 * row + first + j], tile_b[i][j] = b[64 * (first + i) + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile_a[i][k] * tile_b[k][j];
    __syncthreads();
  }
  c[64 * row + column] = sum;
}
