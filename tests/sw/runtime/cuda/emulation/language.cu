// Constructs of CUDA in the emulation; test_emulation_language.py has what each must give.

#ifdef __CUDA_ARCH__
#error "device code of a GPU"
#endif
#ifndef GNARL_EMULATION
#error "not the emulation"
#endif
#define ALL 0xffffffffu

extern __shared__ __align__(16) unsigned char gnarl_shared_memory[];
__device__ const int squares[5] = {0, 1, 4, 9, 16};
__device__ int launches = 0;
__constant__ float third = 1.0f / 3;

template <int N>
static __device__ __forceinline__ int times(int x) { return N * x; }
static __device__ __noinline__ int plus(const int* __restrict__ x) { return *x + 1; }

extern "C" __global__ void __launch_bounds__(1024) indices(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 1000 * blockIdx.x + threadIdx.x + 0 * warpSize;
    if (i == 0) {
        out[gridDim.x * blockDim.x] = gridDim.x + blockDim.x + gridDim.y + blockDim.z;
        out[gridDim.x * blockDim.x + 1] = threadIdx.y + blockIdx.z + warpSize;
    }
}

extern "C" __global__ void arguments(const int* a, int b, long long c, unsigned long long d, int e,
                                     int f, int g, long long h, const int* i, long long* out) {
    long long values[] = {*a, b, c, (long long)d, e, f, g, h, *i};
    for (int k = 0; k < 9; ++k) out[k] = values[k];
}

extern "C" __global__ void statics(int* out) {
    out[threadIdx.x] = squares[threadIdx.x] + launches;
    if (threadIdx.x == 0) launches += 1;
    int local = times<3>(threadIdx.x);
    out[5 + threadIdx.x] = plus(&local);
    out[10 + threadIdx.x] = __float_as_int(third);
}

// Lane by lane: idx, up, down, xor, of the value lane + 100.
extern "C" __global__ void shuffles(int* out, int width, int operand) {
    int n = blockDim.x, t = threadIdx.x, value = t + 100;
    out[t] = __shfl_sync(ALL, value, operand, width);
    out[n + t] = __shfl_up_sync(ALL, value, operand, width);
    out[2 * n + t] = __shfl_down_sync(ALL, value, operand, width);
    out[3 * n + t] = __shfl_xor_sync(ALL, value, operand, width);
}

extern "C" __global__ void shuffle_types(double* out) {
    int t = threadIdx.x;
    out[t] = __shfl_sync(ALL, 0.1 * t, 31);
    out[32 + t] = __shfl_sync(ALL, 0.5f * t, 31);
    out[64 + t] = __shfl_sync(ALL, -(1LL << 40) - t, 31);
    out[96 + t] = __shfl_sync(ALL, (1ULL << 60) + (t == 31), 31) == (1ULL << 60) + 1;
    out[128 + t] = __shfl_sync(ALL, 0xffffffffu - t, 31);
}

extern "C" __global__ void votes(unsigned* out) {
    int t = threadIdx.x, n = blockDim.x;
    out[t] = __ballot_sync(ALL, t % 3 == 0);
    out[n + t] = __all_sync(ALL, t < 1000) + 2 * __all_sync(ALL, t != 5);
    out[2 * n + t] = __any_sync(ALL, t == 5) + 2 * __any_sync(ALL, t < 0);
    out[3 * n + t] = __match_any_sync(ALL, t / 10);
    out[4 * n + t] = __activemask();
}

extern "C" __global__ void reductions(int* out) {
    int t = threadIdx.x, n = blockDim.x, value = t % 32 - 8;
    out[t] = __reduce_add_sync(ALL, value);
    out[n + t] = __reduce_min_sync(ALL, value);
    out[2 * n + t] = __reduce_max_sync(ALL, value);
    out[3 * n + t] = __reduce_min_sync(ALL, (unsigned)value);
    out[4 * n + t] = __reduce_max_sync(ALL, (unsigned)value);
    out[5 * n + t] = __reduce_and_sync(ALL, (unsigned)t | 64);
    out[6 * n + t] = __reduce_or_sync(ALL, (unsigned)t);
    out[7 * n + t] = __reduce_xor_sync(ALL, 1u << t % 32);
}

// Both halves of each warp, and within them odd and even lanes, go their own ways.
extern "C" __global__ void sub_warps(int* out) {
    int t = threadIdx.x;
    unsigned half = t & 16 ? 0xffff0000u : 0x0000ffffu;
    int value = t;
    if (t & 16) value += 1000;
    for (int d = 8; d; d /= 2) value += __shfl_xor_sync(half, value, d, 16);
    if (t & 1) {
        value += __shfl_sync(half & 0xaaaaaaaau, value, (t & 16) + 1);
        __syncwarp(half & 0xaaaaaaaau);
    } else {
        __syncwarp(half & 0x55555555u);
    }
    __syncwarp();
    out[t] = value;
}

extern "C" __global__ void block_votes(int* out) {
    int t = threadIdx.x;
    out[3 * t] = __syncthreads_count(t % 3 == 0);
    out[3 * t + 1] = __syncthreads_and(t < 1024) + 2 * __syncthreads_and(t != 3);
    out[3 * t + 2] = __syncthreads_or(t == 3) + 2 * __syncthreads_or(0);
}

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f) {
    int t = threadIdx.x;
    atomicAdd(i, t);
    atomicSub(i + 1, 1);
    atomicMax(i + 2, t - 10);
    atomicMin(i + 3, t - 10);
    atomicExch(i + 4, t);
    atomicCAS(i + 5, t, t + 1);
    atomicAnd(i + 6, ~(1 << t));
    atomicOr(i + 7, 1 << t);
    atomicAdd(u, 1u);
    atomicSub(u + 1, 1u);
    atomicMax(u + 2, (unsigned)(t - 10));
    atomicMin(u + 3, (unsigned)t + 5);
    atomicInc(u + 4, 4u);
    atomicAdd(l, 1ULL << 40);
    atomicMax(l + 1, (unsigned long long)t << 33);
    atomicAdd(f, 0.5f);
    f[2 + t] = atomicExch(f + 1, (float)t);
}

extern "C" __global__ void arithmetic(int* out, float* real) {
    out[0] = __popc(0xf0f0u); out[1] = __ffs(0); out[2] = __ffs(8); out[3] = __clz(0);
    out[4] = __clz(1); out[5] = (int)__brev(1u) == (int)0x80000000; out[6] = __float_as_int(1.0f);
    out[7] = min(3, -4); out[8] = max(3u, 4u) + max(1LL, 2LL); out[9] = abs(-7);
    out[10] = __float_as_uint(-0.0f) == 0x80000000u; out[11] = __popcll(~0ULL);
    out[12] = __clzll(1); out[13] = __ffsll(1LL << 40); out[14] = __brev(0x12345678u) == 0x1e6a2c48;
    out[15] = __byte_perm(0x33221100u, 0x77665544u, 0x7043u); out[16] = __byte_perm(1u, 2u, 0xcu);
    real[0] = fmaf(1.0f + 0x1p-23f, 1.0f - 0x1p-23f, -1.0f);
    real[1] = (1.0f + 0x1p-23f) * (1.0f - 0x1p-23f) - 1.0f;
    real[2] = __fdiv_rn(1.0f, 3.0f); real[3] = fmaxf(NAN, 2.0f); real[4] = fminf(1.0f, -INFINITY);
    real[5] = __int_as_float(0x7f800000); real[6] = __uint_as_float(0x40490fdbu);
    real[7] = __fadd_rn(0.1f, 0.2f); real[8] = __fmul_rn(0.1f, 0.2f);
    real[9] = __fmaf_rn(2.0f, 3.0f, 4.0f); real[10] = min(1.5f, 2.5f); real[11] = abs(-2.5f);
}

extern "C" __global__ void vectors(const float4* in, float4* out, int* sizes) {
    float4 v = __ldg(in + threadIdx.x);
    __stcs(out + threadIdx.x, make_float4(v.w, v.z, v.y, v.x));
    int values[] = {alignof(char2), alignof(char4), alignof(short2), alignof(short4), alignof(int2),
                    alignof(int4), alignof(uint4), alignof(longlong2), alignof(float2),
                    alignof(double2), alignof(float3), sizeof(float3), sizeof(uchar4)};
    for (int i = 0; i < 13; ++i) sizes[i] = values[i];
    int2 pair = make_int2(1, 2);
    __stcg(sizes + 13, pair.x + pair.y + __ldcg(sizes) + __ldcs(sizes + 1));
}

extern "C" __global__ void clocks(long long* out) {
    long long before = clock64();
    unsigned long long timer = gnarl_emulation_globaltimer();
    out[1] = 0;
    out[0] = clock64() > before && gnarl_emulation_globaltimer() > timer;
    __threadfence_block();
    out[1] = clock64();
}

extern "C" __global__ void copies(const unsigned char* in, unsigned char* out, int bytes) {
    memcpy(gnarl_shared_memory, in, bytes);
    memset(gnarl_shared_memory + bytes, 7, 3);
    memcpy(out, gnarl_shared_memory, bytes + 3);
}

// Two stages of 16 bytes for each thread, one on its way while the other is summed.
extern "C" __global__ void pipeline(const float4* in, float* out, int steps) {
    float4* stage = reinterpret_cast<float4*>(gnarl_shared_memory) + 2 * threadIdx.x;
    float sum = 0;
    gnarl_emulation_copy_async(stage, in + threadIdx.x, 16);
    gnarl_emulation_commit();
    for (int i = 0; i < steps; ++i) {
        if (i + 1 < steps)
            gnarl_emulation_copy_async(stage + (i + 1) % 2,
                                       in + (i + 1) * blockDim.x + threadIdx.x, 16);
        gnarl_emulation_commit();
        gnarl_emulation_wait(1);
        float4 v = stage[i % 2];
        sum += v.x + v.y + v.z + v.w;
    }
    out[threadIdx.x] = sum;
}

// Neighbours write neighbouring bytes: no race.
extern "C" __global__ void bytes(unsigned char* out) {
    int t = threadIdx.x, n = blockDim.x;
    gnarl_shared_memory[t] = t;
    short* halves = reinterpret_cast<short*>(gnarl_shared_memory + 1024);
    halves[t] = -t;
    __syncthreads();
    out[t] = gnarl_shared_memory[n - 1 - t] + halves[t];
}
