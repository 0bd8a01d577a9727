// Drives the plain ports of a design from arrays: one value a cycle and port.
// sw/runtime/vectors.py defines INPUTS(PORT) and OUTPUTS(PORT), which list the ports by name, and
// CLOCKED where the design has ports clk and rst.

#include <cstdint>

#include "Vtop.h"
#include "wave.h"

namespace {

struct Simulator {
    explicit Simulator(const char* wave_path) : wave(context, wave_path), top(&context) {
        wave.attach(top);
#ifdef CLOCKED
        top.rst = 1;
        cycle();
        top.rst = 0;
#endif
    }

    ~Simulator() { top.final(); }

    // The second half of a cycle: the clock's edge, and its fall.
    void cycle() {
#ifdef CLOCKED
        top.clk = 1;
        top.eval();
        wave.dump(time++);
        top.clk = 0;
        top.eval();
#endif
        wave.dump(time++);
    }

    VerilatedContext context;
    Wave wave;
    Vtop top;
    uint64_t time = 0;
};

}  // namespace

extern "C" {

void* simulator_open(const char* wave_path) { return new Simulator(wave_path); }

void simulator_close(void* handle) { delete static_cast<Simulator*>(handle); }

// inputs[port][cycle] and outputs[port][cycle], ports in the order of INPUTS and OUTPUTS. Outputs
// are taken just before the clock's edge.
void simulator_run(void* handle, uint64_t cycles, const uint64_t* const* inputs,
                   uint64_t* const* outputs) {
    Simulator& simulator = *static_cast<Simulator*>(handle);
    Vtop& top = simulator.top;
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        const uint64_t* const* input = inputs;
        uint64_t* const* output = outputs;
#define PORT(name) top.name = (*input++)[cycle];
        INPUTS(PORT)
#undef PORT
        top.eval();
#define PORT(name) (*output++)[cycle] = top.name;
        OUTPUTS(PORT)
#undef PORT
        simulator.cycle();
    }
}
}
