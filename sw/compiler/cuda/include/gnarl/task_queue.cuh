// A grid that stays: its blocks take one task after the other until there are none.
//
// Each begins with a task that nobody has to hand out. The others are cut in as many queues as there
// are multiprocessors, each a run of neighbours. A block takes from the queue of its multiprocessor,
// so that what one feature's tasks load meets in one first-level cache; where that queue is empty,
// from the one that has most left.
#pragma once

#include "gnarl/embedding.cuh"
#include "gnarl/task_map.cuh"

namespace gnarl {

// What is known of a feature before any batch.
struct alignas(16) FeatureConstants {
  int rows;
  int output;         // bytes from its buffer's begin to its first output
  int output_stride;  // columns of that buffer
  unsigned short code;
  unsigned short buffer;
};

// The parameters of a fused kernel.
struct Launch : BatchAddresses {
  const Task* tasks;    // at least as many as blocks
  const Share* shares;  // [features]
  QueueState* state;
  BlockTime* times;  // [tasks], of timed builds
  int queues;
  int queues_reciprocal;  // 2^32 / queues rounded up, in 32 bits
  int batch;
};

// Of what a block keeps in shared memory.
struct TaskSlot {
  int place;  // of the next task, or -1
};

// Notes when a task began and ended, in timed builds; elsewhere it is nothing.
class BlockTimer {
 public:
#ifdef GNARL_BLOCK_TIMES
  __device__ __forceinline__ BlockTimer() : begin_(clock64()) {}

  __device__ __forceinline__ void stop(BlockTime* time) const {
    __syncthreads();
    if (threadIdx.x == 0) {
      *time = {static_cast<unsigned long long>(begin_),
               static_cast<unsigned long long>(clock64())};
    }
  }

 private:
  long long begin_;
#else
  __device__ __forceinline__ BlockTimer() {}
  __device__ __forceinline__ void stop(BlockTime*) const {}
#endif
};

__device__ __forceinline__ int multiprocessor() {
#ifdef __CUDA_ARCH__
  int number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
#else
  return blockIdx.x % 3;
#endif
}

// The launch's tasks from a block's view.
class TaskQueues {
 public:
  __device__ __forceinline__ explicit TaskQueues(const Launch& launch)
      : taken_(reinterpret_cast<int*>(launch.state + 1)),
        count_(launch.state->count),
        per_queue_(launch.state->per_queue),
        queues_(launch.queues) {
    const int number = multiprocessor();
    home_ = number < queues_ ? number : number % queues_;  // numbers may have gaps
  }

  // The task that the block begins with. It may be past the last: none. Blocks that are likely to
  // share a multiprocessor, as these are filled in turn, have neighbours.
  static __device__ __forceinline__ int first(const Launch& launch) {
    const int turns = quotient(gridDim.x, launch);
    if (turns * launch.queues != static_cast<int>(gridDim.x)) return blockIdx.x;
    const int turn = quotient(blockIdx.x, launch);
    return (blockIdx.x - turn * launch.queues) * turns + turn;
  }

  __device__ __forceinline__ bool has(int place) const { return place < count_; }

  // Draws a number in the block's queue. Nothing is computed with it here, so that nobody waits.
  __device__ __forceinline__ int draw() const { return atomicAdd(taken_ + home_, 1); }

  // The place of the task with that number; where the queue has fewer, of one of another queue,
  // which is the block's from now on; -1 if there is none left. Called by a whole warp, with the
  // number in its first lane.
  __device__ __forceinline__ int task_at(int drawn) {
    const int lane = threadIdx.x % kWarpThreads;
    while (true) {
      const int place = begin(home_) + __shfl_sync(kFullWarp, drawn, 0);
      if (place < begin(home_ + 1)) return place;
      home_ = fullest(lane);
      if (home_ < 0) return -1;
      if (lane == 0) drawn = draw();
    }
  }

  // Makes the state what it was, once all blocks have ended. Called by a whole warp.
  __device__ __forceinline__ void end(QueueState* state) const {
    const int lane = threadIdx.x % kWarpThreads;
    int last = 0;
    if (lane == 0) {
      __threadfence();
      last = atomicAdd(&state->ended, 1) == static_cast<int>(gridDim.x) - 1;
      if (last) state->ended = 0;
    }
    if (!__shfl_sync(kFullWarp, last, 0)) return;
    for (int queue = lane; queue < queues_; queue += kWarpThreads) taken_[queue] = 0;
  }

 private:
  // number / queues, as long as their product is below 2^32; 0 for one queue.
  static __device__ __forceinline__ int quotient(unsigned number, const Launch& launch) {
    const auto reciprocal = static_cast<unsigned>(launch.queues_reciprocal);
    return static_cast<int>(static_cast<unsigned long long>(number) * reciprocal >> 32);
  }

  // Of a queue's places.
  __device__ __forceinline__ int begin(int queue) const {
    return min(static_cast<int>(gridDim.x) + queue * per_queue_, count_);
  }

  // The queue with most tasks left, or -1.
  __device__ __forceinline__ int fullest(int lane) const {
    int most = 0;
    int found = -1;
    for (int queue = lane; queue < queues_; queue += kWarpThreads) {
      const int left = begin(queue + 1) - begin(queue) - __ldcg(taken_ + queue);
      if (left > most) {
        most = left;
        found = queue;
      }
    }
#pragma unroll
    for (int distance = 1; distance < kWarpThreads; distance *= 2) {
      const int other = __shfl_xor_sync(kFullWarp, most, distance);
      const int other_queue = __shfl_xor_sync(kFullWarp, found, distance);
      if (other > most || (other == most && other_queue > found)) {
        most = other;
        found = other_queue;
      }
    }
    return found;
  }

  int* taken_;
  int count_;
  int per_queue_;
  int queues_;
  int home_;
};

__device__ __forceinline__ FeatureArguments arguments_of(const Launch& launch,
                                                         const FeatureConstants& constants,
                                                         const Share& share, int feature) {
  void* const output = constants.buffer == 0   ? launch.output0
                       : constants.buffer == 1 ? launch.output1
                                               : launch.output2;
  return {launch.tables[feature + zero_of_lane()],
          launch.indices,
          launch.offsets + static_cast<long long>(feature) * launch.batch,
          launch.weights,
          static_cast<char*>(output) + constants.output,
          launch.workspace + share.workspace,
          launch.error,
          constants.rows,
          launch.batch,
          constants.output_stride,
          feature};
}

// Runs tasks until there are none: Codes::run(code, feature, block, blocks, shared) for each. The
// next one's place is drawn while one runs. `constants`: [features].
template <class Codes, class Shared>
__device__ __forceinline__ void run_tasks(const Launch& launch, const FeatureConstants* constants,
                                          Shared& shared, TaskSlot& slot) {
  int place = TaskQueues::first(launch);
  Task task = launch.tasks[place];
  TaskQueues queues(launch);
  bool more = queues.has(place);
  while (true) {
    int drawn = 0;
    if (threadIdx.x == 0) drawn = queues.draw();
    if (more) {
      const BlockTimer timer;
      const FeatureConstants& of_feature = constants[task.feature];
      const Share share = launch.shares[task.feature];
      const FeatureArguments feature = arguments_of(launch, of_feature, share, task.feature);
      Codes::run(of_feature.code, feature, task.block, share.blocks, shared);
      timer.stop(launch.times + place);
    }
    __syncthreads();  // shared memory is free, and the slot has been read
    if (threadIdx.x < kWarpThreads) {
      const int next = queues.task_at(drawn);
      if (threadIdx.x == 0) slot.place = next;
    }
    __syncthreads();
    place = slot.place;
    if (place < 0) break;
    task = launch.tasks[place];
    more = true;
  }
  if (threadIdx.x < kWarpThreads) queues.end(launch.state);
}

}  // namespace gnarl
