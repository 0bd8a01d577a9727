// Drives the common host port of an accelerator: hw/lib/machine/host.py has its streams and registers.

#include <cstdint>
#include <string>

#include "Vtop.h"
#include "verilated_sym_props.h"
#include "verilated_syms.h"
#include "wave.h"

namespace {

constexpr uint32_t STATUS_ADDRESS = 4;
constexpr uint32_t STATUS_BUSY = 1;

// The host port serves a request in a few cycles, whatever the accelerator does.
constexpr uint64_t STALL_LIMIT = 1000;

struct Simulator {
    explicit Simulator(const char* wave_path) : wave(context, wave_path), top(&context) {
        // $stop and failed assertions end the simulation, not the process.
        context.fatalOnError(false);
        wave.attach(top);
        response_ready = 1;
        reset();
    }

    ~Simulator() { top.final(); }

    // The first half of a cycle: what is decided before the clock's edge.
    void settle() {
        top.clk = 0;
        top.eval();
        wave.dump(time++);
    }

    // The clock's edge.
    void tick() {
        top.clk = 1;
        top.eval();
        wave.dump(time++);
        ++cycles;
    }

    void reset() {
        request_valid = 0;
        for (int reset : {1, 0}) {  // registered_reset.v resets a cycle later
            top.rst = reset;
            settle();
            tick();
        }
    }

    bool running() const { return !context.gotFinish(); }

    void request(bool write, uint64_t address, uint32_t data) {
        request_valid = 1;
        request_payload = uint64_t(write) << 63 | address << 32 | data;
    }

    uint64_t write(uint32_t address, const uint32_t* words, uint64_t count) {
        uint64_t sent = 0;
        for (uint64_t stalled = 0; sent < count && stalled < STALL_LIMIT && running(); ++stalled) {
            request(true, address + sent, words[sent]);
            settle();
            if (request_ready) {
                ++sent;
                stalled = 0;
            }
            tick();
        }
        request_valid = 0;
        return sent;
    }

    uint64_t read(uint32_t address, uint32_t* words, uint64_t count) {
        uint64_t sent = 0, received = 0;
        for (uint64_t stalled = 0; received < count && stalled < STALL_LIMIT && running();
             ++stalled) {
            request_valid = 0;
            if (sent < count) request(false, address + sent, 0);
            settle();
            if (request_valid && request_ready) ++sent;
            if (response_valid) {
                words[received++] = response_payload;
                stalled = 0;
            }
            tick();
        }
        request_valid = 0;
        return received;
    }

    VerilatedContext context;
    Wave wave;
    Vtop top;
    // Verilator spells two underscores in the name of a port in its own way.
    CData& request_valid = top.host___05Frequest___05Fvalid;
    QData& request_payload = top.host___05Frequest___05Fpayload;
    const CData& request_ready = top.host___05Frequest___05Fready;
    const CData& response_valid = top.host___05Fresponse___05Fvalid;
    const IData& response_payload = top.host___05Fresponse___05Fpayload;
    CData& response_ready = top.host___05Fresponse___05Fready;
    uint64_t time = 0;
    uint64_t cycles = 0;
};

// Verilator's runtime acts on the thread's context, also where it ends a design or frees it.
Simulator& simulator(void* handle) {
    Simulator& self = *static_cast<Simulator*>(handle);
    Verilated::threadContextp(&self.context);
    return self;
}

}  // namespace

extern "C" {

void* simulator_open(const char* wave_path) { return new Simulator(wave_path); }

void simulator_close(void* handle) { delete &simulator(handle); }

void simulator_reset(void* handle) { simulator(handle).reset(); }

// Whether the design has not stopped the simulation: $finish, $stop or an assertion.
int simulator_running(void* handle) { return simulator(handle).running(); }

uint64_t simulator_cycles(void* handle) { return simulator(handle).cycles; }

void simulator_step(void* handle, uint64_t cycles) {
    Simulator& self = simulator(handle);
    for (; cycles && self.running(); --cycles) {
        self.settle();
        self.tick();
    }
}

// Both return how many words were transferred: all, unless the port stalls or the design stops.
uint64_t simulator_write(void* handle, uint32_t address, const uint32_t* words, uint64_t count) {
    return simulator(handle).write(address, words, count);
}

uint64_t simulator_read(void* handle, uint32_t address, uint32_t* words, uint64_t count) {
    return simulator(handle).read(address, words, count);
}

// The words of the RAM at an instance path, the top module first, and their number, the bits of each, and the bytes from
// one to the next: up to 64 bits as a number, more as 32-bit numbers, lowest first. Null without it.
void* simulator_ram(void* handle, const char* path, uint64_t* rows, uint64_t* bits,
                    uint64_t* bytes) {
    Simulator& self = simulator(handle);
    const std::string name = std::string(self.top.name()) + '.' + path;
    const VerilatedScope* scope = self.context.scopeFind(name.c_str());
    const VerilatedVar* words = scope ? scope->varFind("words") : nullptr;
    if (!words) return nullptr;
    *rows = words->elements(1);
    *bits = words->entBits();
    *bytes = words->entSize();
    return words->datap();
}

// Polls the status register: 1 once it isn't busy, 0 if it still is after `max_cycles`, -1 if the
// port doesn't answer.
int simulator_wait_idle(void* handle, uint64_t max_cycles) {
    Simulator& self = simulator(handle);
    const uint64_t start = self.cycles;
    for (;;) {
        uint32_t status;
        if (self.read(STATUS_ADDRESS, &status, 1) != 1) return -1;
        if (!(status & STATUS_BUSY)) return 1;
        if (self.cycles - start >= max_cycles) return 0;
    }
}
}
