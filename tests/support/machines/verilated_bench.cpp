// Gives testbenches the ports of a design, by their addresses, and its clock.
// verilated_bench.py defines PORTS(PORT), which lists ports by name, and CLOCKED where there is clk.

#include <cstdint>

#include "Vtop.h"

namespace {

struct Bench {
    VerilatedContext context;
    Vtop top{&context};

    ~Bench() { top.final(); }
};

}  // namespace

extern "C" {

void* bench_open() { return new Bench; }

void bench_close(void* handle) { delete static_cast<Bench*>(handle); }

// Where each port's bits are, the lowest octet first, and how many octets.
void bench_ports(void* handle, void** addresses, uint64_t* sizes) {
    Vtop& top = static_cast<Bench*>(handle)->top;
#define PORT(name)                \
    *addresses++ = &top.name;     \
    *sizes++ = sizeof(top.name);
    PORTS(PORT)
#undef PORT
}

void bench_settle(void* handle) { static_cast<Bench*>(handle)->top.eval(); }

// To just after the clock's edge.
void bench_tick(void* handle) {
#ifdef CLOCKED
    Vtop& top = static_cast<Bench*>(handle)->top;
    top.eval();
    top.clk = 1;
    top.eval();
    top.clk = 0;
    top.eval();
#endif
}
}
