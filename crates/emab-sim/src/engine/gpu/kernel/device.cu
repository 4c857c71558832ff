// One kernel; the macros PLAYER and THREADS say which.
#include "one_action.h"
#include "play.h"

extern "C" __global__ void __launch_bounds__(THREADS, 1) play(const __grid_constant__ Job job) {
    extern __shared__ __align__(16) uint8_t shared[];
    uint8_t* tables = shared;
    const uint8_t* rows = PLAYER::SHORT_ROWS ? shared : job.rows;
    if (PLAYER::SHORT_ROWS || job.rows_in_shared) {
        const uint2* from = (const uint2*)job.rows;
        for (uint32_t i = threadIdx.x; i < job.rows_size / 8; i += blockDim.x) ((uint2*)shared)[i] = from[i];
        rows = shared;
        tables += job.rows_size;
    }
    PLAYER::clear_tables(job, tables, threadIdx.x, blockIdx.x, blockDim.x);
    __syncthreads();
    PLAYER player(job, rows, tables, threadIdx.x, blockIdx.x, blockDim.x, gridDim.x);
    while (play_group(player)) {
    }
}
