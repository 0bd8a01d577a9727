// A CUDA driver without a GPU: what libcuda.so.1 exports, as far as the runtime calls it.
//
// Device memory is host memory of its own, which only this driver's functions reach. Streams are as
// lazy as CUDA allows: what is put into one happens when somebody waits for it, so a buffer that is
// written to too early, or a copy that nobody waits for, shows in the results. With
// FAKE_CUDA_EAGER_COPIES, copies happen at once instead, and kernels late. The null stream, which no
// other waits for, is as lazy: copies from memory that is not pinned return when they have read it,
// not when they have arrived. Nothing waits for work that still uses freed memory. Whatever is called against the documentation ends with a status that
// is not success.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

enum Status {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialised = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
};

struct Stream;

struct Event {
  bool recorded = false, passed = true;
  Stream* stream = nullptr;
  uint64_t time = 0;
};

struct Stream {
  std::vector<std::function<int()>> work;
  size_t done = 0;
};

struct Gpu {
  const char* name;
  int major, minor;
};

struct Function {
  std::string image, name;
};

using Launched = int (*)(const char* image, const char* kernel, unsigned grid, unsigned block,
                         unsigned shared, const uint64_t* arguments);

const int kDevices = std::getenv("FAKE_CUDA_DEVICES") ? atoi(getenv("FAKE_CUDA_DEVICES")) : 2;
const int kVersion = std::getenv("FAKE_CUDA_VERSION") ? atoi(getenv("FAKE_CUDA_VERSION")) : 99000;
const Gpu kGpus[] = {{"Fake H200", 9, 0}, {"Tesla T4", 7, 5}};
const bool kEagerCopies = std::getenv("FAKE_CUDA_EAGER_COPIES");
const unsigned kOptIn = 48 * 1024;

bool initialised = false;
std::vector<int> contexts;  // the stack of the one thread
std::map<uint64_t, size_t> device_memory, host_memory;
std::set<Stream*> streams;
Stream null_stream;
std::set<Event*> events;
std::set<char*> modules;
constexpr size_t kPlanBytes = 16 + 120 * 32;  // of a plan of tasks
std::map<std::string, std::string> kernel_parameters;
unsigned dynamic_shared = kOptIn;
uint64_t clock_now = 0;
Launched launched = nullptr;
int failure = 0;  // of something that ran in a stream: sticks, as in a real context

bool inside(const std::map<uint64_t, size_t>& memory, uint64_t address, size_t bytes) {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return false;
  --after;
  return address + bytes <= after->first + after->second;
}

int run(Stream* stream, size_t until) {
  while (stream->done < until && !failure) {
    const auto next = stream->work[stream->done++];
    failure = next();
  }
  return failure;
}

int put(void* handle, std::function<int()> work) {
  auto* stream = static_cast<Stream*>(handle);
  if (!streams.count(stream)) return kInvalidHandle;
  stream->work.push_back(work);
  return failure;
}

int pass(Event* event) {
  while (!event->passed && !failure) run(event->stream, event->stream->done + 1);
  return failure;
}

int drain() {
  run(&null_stream, null_stream.work.size());
  for (Stream* stream : streams) run(stream, stream->work.size());
  return failure;
}

int allocate(std::map<uint64_t, size_t>& memory, size_t bytes, uint64_t* address) {
  if (contexts.empty()) return kInvalidContext;
  if (!bytes) return kInvalidValue;
  void* found = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!found) return kOutOfMemory;
  std::memset(found, 0xcd, bytes);  // never zeroes: nobody may count on them
  memory[*address = reinterpret_cast<uint64_t>(found)] = bytes;
  return kSuccess;
}

int release(std::map<uint64_t, size_t>& memory, uint64_t address) {
  if (contexts.empty()) return kInvalidContext;
  if (failure) return failure;
  if (!memory.count(address)) return kInvalidValue;
  std::memset(reinterpret_cast<void*>(address), 0xdd, memory[address]);
  memory.erase(address);  // and stays with the process, so that its addresses are never valid again
  return kSuccess;
}

int copy(uint64_t to, uint64_t from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return kSuccess;
}

}  // namespace

#define DRIVER extern "C" __attribute__((visibility("default"))) int

// For tests.
DRIVER fake_on_launch(Launched function) {
  launched = function;
  return kSuccess;
}
DRIVER fake_count(const char* what) {
  switch (*what) {
    case 'd': return static_cast<int>(device_memory.size());
    case 'p': return static_cast<int>(host_memory.size());
    case 's': return static_cast<int>(streams.size());
    case 'e': return static_cast<int>(events.size());
    case 'm': return static_cast<int>(modules.size());
    default: return static_cast<int>(contexts.size());
  }
}
// A letter for each parameter of a kernel: i, or l for those of 64 bits. Others have four of these.
DRIVER fake_parameters(const char* kernel, const char* types) {
  kernel_parameters[kernel] = types;
  return kSuccess;
}
// All device memory at one time; there is room for `most` pieces.
DRIVER fake_memory(uint64_t* addresses, uint64_t* sizes, int most) {
  int count = 0;
  for (const auto& piece : device_memory) {
    if (count == most) break;
    addresses[count] = piece.first;
    sizes[count++] = piece.second;
  }
  return count;
}

DRIVER cuInit(unsigned flags) {
  initialised = true;
  return flags ? kInvalidValue : kDevices ? kSuccess : kNoDevice;
}
DRIVER cuDriverGetVersion(int* version) {
  *version = kVersion;
  return kSuccess;
}
DRIVER cuDeviceGetCount(int* count) {
  *count = kDevices;
  return initialised ? kSuccess : kNotInitialised;
}
DRIVER cuDeviceGet(int* device, int number) {
  *device = number;
  return number >= 0 && number < kDevices ? kSuccess : kInvalidDevice;
}
DRIVER cuDeviceGetName(char* name, int length, int device) {
  // As the driver does: what lies behind the terminator is not written.
  std::snprintf(name, length, "%s", kGpus[device].name);
  return kSuccess;
}
DRIVER cuDeviceGetAttribute(int* value, int attribute, int device) {
  switch (attribute) {
    case 16: *value = 4; return kSuccess;
    case 38: *value = 1 << 16; return kSuccess;
    case 75: *value = kGpus[device].major; return kSuccess;
    case 76: *value = kGpus[device].minor; return kSuccess;
    case 97: *value = (kGpus[device].major == 9 ? 227 : 32) * 1024; return kSuccess;
    default: return kInvalidValue;
  }
}
DRIVER cuDeviceTotalMem(size_t* bytes, int) {
  *bytes = size_t{1} << 28;
  return kSuccess;
}
DRIVER cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(uintptr_t(device) + 1);
  return device < kDevices ? kSuccess : kInvalidDevice;
}
DRIVER cuCtxPushCurrent(void* context) {
  contexts.push_back(static_cast<int>(reinterpret_cast<uintptr_t>(context)));
  return kSuccess;
}
DRIVER cuCtxPopCurrent(void** context) {
  if (contexts.empty()) return kInvalidContext;
  if (context) *context = reinterpret_cast<void*>(uintptr_t(contexts.back()));
  contexts.pop_back();
  return kSuccess;
}
DRIVER cuCtxSynchronize() { return contexts.empty() ? int(kInvalidContext) : drain(); }

DRIVER cuMemAlloc(uint64_t* address, size_t bytes) {
  return allocate(device_memory, bytes, address);
}
DRIVER cuMemFree(uint64_t address) { return release(device_memory, address); }
DRIVER cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  return allocate(host_memory, bytes, reinterpret_cast<uint64_t*>(address));
}
DRIVER cuMemFreeHost(void* address) {
  return release(host_memory, reinterpret_cast<uint64_t>(address));
}
DRIVER cuMemsetD8(uint64_t address, unsigned char value, size_t bytes) {
  if (!inside(device_memory, address, bytes)) return kInvalidValue;
  null_stream.work.push_back([=] {
    if (!inside(device_memory, address, bytes)) return int(kIllegalAddress);
    std::memset(reinterpret_cast<void*>(address), value, bytes);
    return int(kSuccess);
  });
  return failure;
}
DRIVER cuMemcpyHtoD(uint64_t to, const void* from, size_t bytes) {
  if (!inside(device_memory, to, bytes)) return kInvalidValue;
  const auto* begin = static_cast<const char*>(from);
  null_stream.work.push_back([=, read = std::vector<char>(begin, begin + bytes)] {
    if (!inside(device_memory, to, bytes)) return int(kIllegalAddress);
    return copy(to, reinterpret_cast<uint64_t>(read.data()), bytes);
  });
  return kEagerCopies ? run(&null_stream, null_stream.work.size()) : failure;
}
DRIVER cuMemcpyDtoH(void* to, uint64_t from, size_t bytes) {
  if (!inside(device_memory, from, bytes)) return kInvalidValue;
  run(&null_stream, null_stream.work.size());
  return failure ? failure : copy(reinterpret_cast<uint64_t>(to), from, bytes);
}
DRIVER cuStreamSynchronize(void* handle) {
  auto* stream = static_cast<Stream*>(handle);
  if (!stream) return run(&null_stream, null_stream.work.size());
  return streams.count(stream) ? run(stream, stream->work.size()) : int(kInvalidHandle);
}
DRIVER cuMemcpyHtoDAsync(uint64_t to, const void* from, size_t bytes, void* stream) {
  const auto source = reinterpret_cast<uint64_t>(from);
  if (!inside(device_memory, to, bytes) || !inside(host_memory, source, bytes)) {
    return kInvalidValue;
  }
  const int status = put(stream, [=] {
    const bool valid = inside(host_memory, source, bytes) && inside(device_memory, to, bytes);
    return valid ? copy(to, source, bytes) : int(kIllegalAddress);
  });
  return kEagerCopies && !status ? cuStreamSynchronize(stream) : status;
}
DRIVER cuMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  if (!inside(device_memory, to, bytes) || !inside(device_memory, from, bytes)) {
    return kInvalidValue;
  }
  return put(stream, [=] { return copy(to, from, bytes); });
}

DRIVER cuStreamCreate(void** stream, unsigned flags) {
  if (contexts.empty()) return kInvalidContext;
  if (flags != 1) return kInvalidValue;  // others wait for the null stream
  auto* made = new Stream;
  streams.insert(made);
  *stream = made;
  return kSuccess;
}
DRIVER cuStreamDestroy(void* stream) {
  drain();
  return streams.erase(static_cast<Stream*>(stream)) ? kSuccess : kInvalidHandle;
}
DRIVER cuStreamWaitEvent(void* stream, void* handle, unsigned) {
  auto* event = static_cast<Event*>(handle);
  if (!events.count(event)) return kInvalidHandle;
  return put(stream, [=] { return pass(event); });
}
DRIVER cuEventCreate(void** event, unsigned flags) {
  if (contexts.empty()) return kInvalidContext;
  if (flags) return kInvalidValue;
  auto* made = new Event;
  events.insert(made);
  *event = made;
  return kSuccess;
}
DRIVER cuEventDestroy(void* event) {
  return events.erase(static_cast<Event*>(event)) ? kSuccess : kInvalidHandle;
}
DRIVER cuEventRecord(void* handle, void* stream) {
  auto* event = static_cast<Event*>(handle);
  if (!events.count(event)) return kInvalidHandle;
  event->recorded = true;
  event->passed = false;
  event->stream = static_cast<Stream*>(stream);
  return put(stream, [=] {
    event->passed = true;
    event->time = clock_now += 1000;
    return int(kSuccess);
  });
}
DRIVER cuEventSynchronize(void* event) {
  return events.count(static_cast<Event*>(event)) ? pass(static_cast<Event*>(event))
                                                  : int(kInvalidHandle);
}
DRIVER cuEventElapsedTime(float* ms, void* from, void* to) {
  auto *begin = static_cast<Event*>(from), *end = static_cast<Event*>(to);
  if (!events.count(begin) || !events.count(end) || !begin->recorded || !end->recorded) {
    return kInvalidHandle;
  }
  if (!begin->passed || !end->passed) return kNotReady;
  *ms = static_cast<float>(end->time - begin->time) * 1e-6f;
  return kSuccess;
}

DRIVER cuModuleLoadData(void** module, const void* image) {
  if (contexts.empty()) return kInvalidContext;
  if (std::memcmp(image, "cubin:", 6)) return kInvalidImage;
  char* made = strdup(static_cast<const char*>(image));
  modules.insert(made);
  *module = made;
  return kSuccess;
}
DRIVER cuModuleUnload(void* module) {
  return modules.erase(static_cast<char*>(module)) ? kSuccess : kInvalidHandle;
}
DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
  if (!modules.count(static_cast<char*>(module))) return kInvalidHandle;
  *function = new Function{static_cast<char*>(module), name};
  return kSuccess;
}
DRIVER cuFuncSetAttribute(void*, int attribute, int value) {
  if (attribute == 8) {
    dynamic_shared = static_cast<unsigned>(value);
    return value >= 0 && value <= 227 * 1024 ? kSuccess : kInvalidValue;
  }
  return attribute == 9 && value >= 0 && value <= 100 ? kSuccess : kInvalidValue;
}
DRIVER cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, void* stream, void** parameters,
                      void** extra) {
  if (contexts.empty()) return kInvalidContext;
  if (!gx || gy != 1 || gz != 1 || !bx || bx > 1024 || by != 1 || bz != 1 || extra) {
    return kInvalidValue;
  }
  if (shared > (dynamic_shared > kOptIn ? dynamic_shared : kOptIn)) return kInvalidValue;
  const auto* kernel = static_cast<const Function*>(function);
  const auto known = kernel_parameters.find(kernel->name);
  const std::string types = known == kernel_parameters.end() ? "llll" : known->second;
  std::vector<uint64_t> arguments;  // copied now, as a launch does
  const auto structure = std::make_shared<std::vector<uint8_t>>();
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == 'p') {
      const auto* plan = static_cast<uint8_t*>(parameters[i]);
      structure->assign(plan, plan + kPlanBytes);
      arguments.push_back(reinterpret_cast<uint64_t>(structure->data()));
    } else {
      arguments.push_back(types[i] == 'i' ? *static_cast<uint32_t*>(parameters[i])
                                          : *static_cast<uint64_t*>(parameters[i]));
    }
  }
  return put(stream, [=] {
    (void)structure;  // lives as long as the launch
    const char *image = kernel->image.c_str(), *name = kernel->name.c_str();
    return launched ? launched(image, name, gx, bx, shared, arguments.data()) : int(kSuccess);
  });
}

DRIVER cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR";
  return kSuccess;
}
DRIVER cuGetErrorString(int, const char** text) {
  *text = "an error";
  return kSuccess;
}

#include <dlfcn.h>

DRIVER cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* status) {
  *function = dlsym(RTLD_DEFAULT, name);
  if (!*function) {
    void* self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *function = self ? dlsym(self, name) : nullptr;
  }
  if (status) *status = *function ? 0 : 1;
  return *function ? kSuccess : kNotFound;
}
