// Copies from global to shared memory that go on while the thread does something else: cp.async,
// from sm_80 on. Elsewhere a copy is done when copy_async returns.
//
//   copy_async(&shared.x[i], &x[j]);  any number of them
//   commit_copies();
//   ...
//   wait_for_copies();                this thread's; a barrier tells of the others'
#pragma once

namespace gnarl {

// Copies *source; T has 4, 8 or 16 bytes, and both addresses are multiples of that.
template <class T>
__device__ __forceinline__ void copy_async(T* shared, const T* source) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "cp.async has such sizes");
#if defined(GNARL_EMULATION)
  gnarl_emulation_copy_async(shared, source, sizeof(T));
#elif __CUDA_ARCH__ >= 800
  const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(source),
               "n"(sizeof(T))
               : "memory");
#else
  *shared = *source;
#endif
}

// Ends a group of copies.
__device__ __forceinline__ void commit_copies() {
#if defined(GNARL_EMULATION)
  gnarl_emulation_commit();
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most kPending groups, the latest, are not done.
template <int kPending = 0>
__device__ __forceinline__ void wait_for_copies() {
#if defined(GNARL_EMULATION)
  gnarl_emulation_wait(kPending);
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace gnarl
