// A kernel whose workers are warps: each takes one task after the other, and waits for no other.
//
// A task is some samples of a feature, or a piece of a few bags. How many there are, and which is
// what, follows from the size of the batch alone, so that the host, which knows it, says so in the
// kernel's own parameters: a plan has a line for each class of features with tasks of one shape. No
// list of tasks is made or read, and no kernel comes before this one.
//
// The first tasks of the plan are dealt to blocks in runs of neighbours, so that what one feature's
// tasks look up meets in one first-level cache; a block's warps draw them from a counter in shared
// memory. The rest are drawn by all warps, from one counter in global memory, so that all end at
// about the same time.
#pragma once

#include "gnarl/embedding.cuh"

// A parameter that is a structure.
#ifdef GNARL_EMULATION
#define GNARL_BY_VALUE(type) const type&
#else
#define GNARL_BY_VALUE(type) const __grid_constant__ type
#endif

extern __shared__ __align__(16) unsigned char gnarl_shared_memory[];

namespace gnarl {

// A run of features, in the order of a kernel's table of them, that one code computes in tasks of
// one shape. Mirrored by TASK_CLASS in sw/compiler/cuda/layouts.py, as the other structs are.
struct TaskClass {
  int begin;                // the number of its first task
  int first;                // the place of its first feature
  int of_feature;           // tasks of each feature
  unsigned reciprocal;      // 2^32 / of_feature, rounded down; of 1: 2^32 - 1
  unsigned partials;        // where its partials begin in the workspace, in units of 128 bytes
  int counters;             // its first counter of pieces that have come
  unsigned short code;
  unsigned short samples;   // of a task
  unsigned char pieces;     // log2 of those that bags are cut into
  unsigned char rounds;     // log2 of those that all pieces of a bag share, at most
  unsigned char slices;     // log2 of those that rows are cut into
  unsigned char spread;     // log2 of how many times as many rows of a bag are side by side
};

// What is to be done with a batch. Classes lie in the order of `begin`.
template <int kClasses>
struct TaskPlan {
  int tasks;
  int dealt;         // of them to blocks
  int run;           // log2 of the length of a run
  unsigned wrap;     // draws from the global counter by one launch, less 1
  TaskClass classes[kClasses];
};

// What is known of a feature before any batch.
struct alignas(16) WarpFeature {
  int feature;                  // its number
  int rows;
  int row_bytes;
  int output;                   // bytes from its buffer's begin to its first output
  int output_stride;            // columns of that buffer
  unsigned short dim;
  unsigned short scale;         // bytes from a row's begin to its scale and bias, if it has them
  unsigned char lanes;          // log2 of those of a row
  unsigned char rows_aside;     // log2 of a bag's rows side by side
  unsigned char buffer;
  unsigned char output_type;    // one of OutputTypes
  unsigned char is_mean;
  unsigned char reserved;
  unsigned short more_reserved;
};

// The parameters of a kernel, but for the plan.
struct WarpLaunch : BatchAddresses {
  unsigned* state;   // tasks drawn, then counters of pieces: zeroes, and left as zeroes
  BlockTime* times;  // [tasks], of timed builds
  int batch;
};

// A task, from its warp's view.
struct WarpTask {
  const WarpFeature& feature;
  const unsigned char* table;
  const Index* indices;
  const Index* offsets;   // [batch + 1] of the feature
  const float* weights;
  void* output;           // of the feature's first column in the buffer
  ErrorRecord* error;
  int code;
  float* partials;        // of the class's bags that are cut
  unsigned* counter;      // pieces of this task's bags that have come
  unsigned cut;           // the number of these bags among the class's
  int batch;
  int sample;             // the first
  int samples;
  int spread;             // see TaskClass
  int slice;              // of the rows
  int piece;
  int pieces;             // log2 of their number
  int rounds;             // log2 of those that all of them share, at most
  Index begin;            // of this lane's sample, the first and those after it: its indices
  Index end;
};

__device__ __forceinline__ int lane_number() {
  return static_cast<int>(threadIdx.x % kWarpThreads);
}

// What all lanes have together. Compilers know that this is the same for all of them, so that
// branches on it take no care of lanes that go apart.
__device__ __forceinline__ int least_of_warp(int number) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kFullWarp, number);
#else
#pragma unroll
  for (int distance = 1; distance < kWarpThreads; distance *= 2) {
    number = min(number, __shfl_xor_sync(kFullWarp, number, distance));
  }
  return number;
#endif
}

__device__ __forceinline__ int most_of_warp(int number) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kFullWarp, number);
#else
  return -least_of_warp(-number);
#endif
}

// A number that is the same for all lanes. Compilers, left to themselves, compute it again and again
// where it is used, so that it takes no register.
__device__ __forceinline__ int kept(int number) { return most_of_warp(number); }

// Which tasks a warp does.
template <int kClasses>
class TaskDraws {
 public:
  __device__ __forceinline__ TaskDraws(const TaskPlan<kClasses>& plan, unsigned* taken,
                                       unsigned* state)
      : plan_(plan), taken_(taken), state_(state) {}

  // Draws, so that the answer is on its way.
  __device__ __forceinline__ void draw() {
    if (lane_number() != 0) return;
    // Not atomicAdd: compilers add up what all lanes ask for, though there is but one.
    drawn_ = static_cast<int>(is_dealt_ ? atomicInc(taken_, kNoLimit)
                                        : atomicInc(state_, plan_.wrap));
  }

  // The task that was drawn; -1 when there is none left, after which nothing may be drawn.
  __device__ __forceinline__ int task() {
    if (is_dealt_) {
      const int number = dealt(most_of_warp(drawn_));
      if (number < plan_.dealt) return number;
      is_dealt_ = false;
      draw();
    }
    const int number = plan_.dealt + most_of_warp(drawn_);
    return number < plan_.tasks ? number : -1;
  }

 private:
  // A block's task of that number: its runs are gridDim.x runs apart.
  __device__ __forceinline__ int dealt(int turn) const {
    const int run = (turn >> plan_.run) * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    return (run << plan_.run) + (turn & ((1 << plan_.run) - 1));
  }

  static constexpr unsigned kNoLimit = ~0u;

  const TaskPlan<kClasses>& plan_;
  unsigned* taken_;
  unsigned* state_;
  int drawn_ = 0;  // of the first lane; of others 0
  bool is_dealt_ = true;
};

// The last class that begins at or before a task.
template <int kClasses>
__device__ __forceinline__ int class_of(const TaskPlan<kClasses>& plan, int task) {
  int low = 0;
#pragma unroll
  for (int step = power_of_two_at_least(kClasses) / 2; step > 0; step /= 2) {
    const int middle = low + step;
    if (middle < kClasses && plan.classes[middle].begin <= task) low = middle;
  }
  return low;
}

// Where a task is in a plan.
struct TaskPlace {
  const TaskClass& own;
  const WarpFeature& feature;
  unsigned in_feature;  // its number among the feature's
  unsigned cut;         // the number of its bags among the class's, of those that are cut

  template <int kClasses>
  static __device__ __forceinline__ TaskPlace of(const TaskPlan<kClasses>& plan,
                                                 const WarpFeature* features, int number) {
    const TaskClass& own = plan.classes[class_of(plan, number)];
    const unsigned in_class = static_cast<unsigned>(number - own.begin);
    const auto of_feature = static_cast<unsigned>(own.of_feature);
    auto place = static_cast<unsigned>(
        static_cast<unsigned long long>(in_class) * own.reciprocal >> 32);
    unsigned in_feature = in_class - place * of_feature;
    if (in_feature >= of_feature) {  // the reciprocal is rounded down
      in_feature -= of_feature;
      ++place;
    }
    const unsigned cut = place * (of_feature >> own.pieces) + (in_feature >> own.pieces);
    return {own, features[own.first + place], in_feature, cut};
  }

  __device__ __forceinline__ int sample() const {
    return static_cast<int>(in_feature >> (own.pieces + own.slices)) * own.samples;
  }

  __device__ __forceinline__ const Index* offsets(const WarpLaunch& launch) const {
    return launch.offsets + static_cast<long long>(feature.feature) * launch.batch;
  }
};

// What a task waits for first. It is asked for while the task before it is pooled.
struct TaskAhead {
  const unsigned char* table;
  Index begin;
  Index end;

  template <int kClasses>
  static __device__ __forceinline__ TaskAhead of(const WarpLaunch& launch,
                                                 const TaskPlan<kClasses>& plan,
                                                 const WarpFeature* features, int number) {
    const TaskPlace place = TaskPlace::of(plan, features, number);
    const Index* const offsets = place.offsets(launch);
    const int at = place.sample() + lane_number();
    return {static_cast<const unsigned char*>(launch.tables[place.feature.feature]),
            __ldg(offsets + min(at, launch.batch)), __ldg(offsets + min(at + 1, launch.batch))};
  }
};

template <int kClasses>
__device__ __forceinline__ WarpTask task_of(const WarpLaunch& launch,
                                            const TaskPlan<kClasses>& plan,
                                            const WarpFeature* features, int number,
                                            const TaskAhead& ahead) {
  const TaskPlace place = TaskPlace::of(plan, features, number);
  const TaskClass& own = place.own;
  const WarpFeature& feature = place.feature;
  void* const output = feature.buffer == 0   ? launch.output0
                       : feature.buffer == 1 ? launch.output1
                                             : launch.output2;
  const unsigned slice = place.in_feature >> own.pieces & ((1u << own.slices) - 1);
  return {feature,
          ahead.table,
          launch.indices,
          place.offsets(launch),
          launch.weights,
          static_cast<char*>(output) + feature.output,
          launch.error,
          own.code,
          reinterpret_cast<float*>(launch.workspace + 128ULL * own.partials),
          launch.state + 1 + own.counters + place.cut,
          place.cut,
          launch.batch,
          place.sample(),
          own.samples,
          own.spread,
          static_cast<int>(slice),
          static_cast<int>(place.in_feature & ((1u << own.pieces) - 1)),
          own.pieces,
          own.rounds,
          ahead.begin,
          ahead.end};
}

// Runs tasks until there are none: Codes::run(code, task) for each. `taken`, of the block in shared
// memory, is written.
template <class Codes, int kClasses>
__device__ __forceinline__ void run_warp_tasks(const WarpLaunch& launch,
                                               const TaskPlan<kClasses>& plan,
                                               const WarpFeature* features, unsigned* taken) {
  if (threadIdx.x == 0) *taken = 0;
  __syncthreads();
  TaskDraws<kClasses> draws(plan, taken, launch.state);
  draws.draw();
  int number = -1;
  TaskAhead ahead{nullptr, 0, 0};
#pragma unroll 1
  while (true) {
    const int next = draws.task();
    TaskAhead of_next = ahead;
    if (next >= 0) {
      draws.draw();
      of_next = TaskAhead::of(launch, plan, features, next);
    }
    if (number >= 0) {
      const WarpTask task = task_of(launch, plan, features, number, ahead);
#ifdef GNARL_BLOCK_TIMES
      const auto begin = static_cast<unsigned long long>(clock64());
#endif
      Codes::run(task.code, task);
#ifdef GNARL_BLOCK_TIMES
      if (lane_number() == 0) {
        launch.times[number] = {begin, static_cast<unsigned long long>(clock64())};
      }
#endif
    }
    if (next < 0) return;
    number = next;
    ahead = of_next;
  }
}

}  // namespace gnarl
