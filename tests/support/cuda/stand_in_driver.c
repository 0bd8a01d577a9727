/* A CUDA driver without a GPU: what libcuda.so.1 exports, as far as the runtime and NVRTC call it.
 *
 * Device memory is host memory, all zeroes at first. Copies happen at once; a launched kernel does
 * nothing, so that results are wrong; each event is a microsecond later than the one before. For
 * whatever else CUDA demands of its callers see fake_cuda.cpp, which runs kernels in the emulation.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101, kNotFound = 500 };

static uint64_t microseconds = 0;
static char handle; /* of contexts, streams, modules and functions, all of which are alike */

int cuInit(unsigned flags) { return flags ? kInvalidValue : kSuccess; }
int cuDriverGetVersion(int* version) {
  *version = 99000;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return number ? kInvalidDevice : kSuccess;
}
int cuDeviceGetName(char* name, int length, int device) {
  (void)device;
  snprintf(name, (size_t)length, "Stand-in H200");
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 13: *value = 1980000; return kSuccess;    /* clock, kHz */
    case 16: *value = 4; return kSuccess;          /* multiprocessors */
    case 36: *value = 2619000; return kSuccess;    /* memory's clock, kHz */
    case 37: *value = 6144; return kSuccess;       /* memory's bus, bits */
    case 38: *value = 1 << 16; return kSuccess;    /* L2 cache, bytes */
    case 75: *value = 9; return kSuccess;          /* compute capability */
    case 76: *value = 0; return kSuccess;
    case 97: *value = 227 * 1024; return kSuccess; /* shared memory of a block, bytes */
    default: return kInvalidValue;
  }
}
int cuDeviceTotalMem(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)1 << 26;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &handle;
  return device ? kInvalidDevice : kSuccess;
}
int cuCtxPushCurrent(void* context) {
  (void)context;
  return kSuccess;
}
int cuCtxPopCurrent(void** context) {
  if (context) *context = &handle;
  return kSuccess;
}
int cuCtxSynchronize(void) { return kSuccess; }

static int allocate(void** address, size_t bytes) {
  const size_t size = (bytes + 255) / 256 * 256;
  if (!bytes) return kInvalidValue;
  *address = aligned_alloc(256, size);
  if (!*address) return kOutOfMemory;
  memset(*address, 0, size);
  return kSuccess;
}
int cuMemAlloc(void** address, size_t bytes) { return allocate(address, bytes); }
int cuMemFree(void* address) {
  free(address);
  return kSuccess;
}
int cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  (void)flags;
  return allocate(address, bytes);
}
int cuMemFreeHost(void* address) {
  free(address);
  return kSuccess;
}
int cuMemsetD8(void* address, unsigned char value, size_t bytes) {
  memset(address, value, bytes);
  return kSuccess;
}
int cuMemcpyHtoD(void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
  return kSuccess;
}
int cuMemcpyDtoH(void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
  return kSuccess;
}
int cuMemcpyHtoDAsync(void* to, const void* from, size_t bytes, void* stream) {
  (void)stream;
  memcpy(to, from, bytes);
  return kSuccess;
}
int cuMemcpyDtoDAsync(void* to, const void* from, size_t bytes, void* stream) {
  (void)stream;
  memcpy(to, from, bytes);
  return kSuccess;
}

int cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  *stream = &handle;
  return kSuccess;
}
int cuStreamDestroy(void* stream) {
  (void)stream;
  return kSuccess;
}
int cuStreamSynchronize(void* stream) {
  (void)stream;
  return kSuccess;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return kSuccess;
}
int cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof microseconds);
  return *event ? kSuccess : kOutOfMemory;
}
int cuEventDestroy(void* event) {
  free(event);
  return kSuccess;
}
int cuEventRecord(void* event, void* stream) {
  (void)stream;
  *(uint64_t*)event = ++microseconds;
  return kSuccess;
}
int cuEventSynchronize(void* event) {
  (void)event;
  return kSuccess;
}
int cuEventElapsedTime(float* ms, const void* from, const void* to) {
  *ms = 1e-3f * (float)(*(const uint64_t*)to - *(const uint64_t*)from);
  return kSuccess;
}

int cuModuleLoadData(void** module, const void* image) {
  *module = &handle;
  return image ? kSuccess : kInvalidValue;
}
int cuModuleUnload(void* module) {
  (void)module;
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module, (void)name;
  *function = &handle;
  return kSuccess;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  (void)function, (void)attribute, (void)value;
  return kSuccess;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void* stream, void** parameters, void** extra) {
  (void)function, (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)shared;
  (void)stream, (void)parameters, (void)extra;
  return grid_x && block_x && block_x <= 1024 ? kSuccess : kInvalidValue;
}

int cuGetErrorName(int status, const char** text) {
  (void)status;
  *text = "CUDA_ERROR";
  return kSuccess;
}
int cuGetErrorString(int status, const char** text) {
  (void)status;
  *text = "an error";
  return kSuccess;
}

/* NVRTC looks for tables of functions that are not documented, and does without them. */
int cuGetExportTable(const void** table, const void* id) {
  (void)id;
  *table = NULL;
  return kNotFound;
}

int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                        int* status) {
  void* self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  (void)version, (void)flags;
  *function = self ? dlsym(self, name) : NULL;
  if (status) *status = *function ? 0 : 1;
  return *function ? kSuccess : kNotFound;
}
