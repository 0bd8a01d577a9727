// What a host does in each cycle, for host.v and, by ctypes, for host_port.py in the same process.

#include <cstdint>
#include <random>
#include <vector>

#include "Vtop__Dpi.h"

namespace {

constexpr uint64_t WRITE = uint64_t(1) << 63;

constexpr int STALLED = 1;
constexpr int CHANGED = 2;

struct Host {
    bool stall() { return stalls > 0 && std::uniform_real_distribution<>()(random) < stalls; }

    bool finished() const {
        if (error || limit) return error || cycles == limit;
        return sent == requests.size() && words.size() == expected;
    }

    // What the host drives in the cycle that begins.
    void begin() {
        valid = takes = false;
        if (!works) return;
        if (finished()) {
            works = false;
            ended = !ended;
            return;
        }
        // A request that was offered has to stay until it is taken.
        offered = offered || (sent < requests.size() && !stall());
        valid = offered;
        takes = !limit && !stall();
    }

    // What has come of it, and is there at the clock's edge.
    void end(bool reset, bool ready, bool has_word, uint32_t word) {
        if (waits && !(has_word && word == waiting)) error = CHANGED;
        waits = has_word && !takes && !reset;
        waiting = word;
        if (!works) return;
        ++cycles;
        ++idle_cycles;
        if (valid && ready) {
            ++sent;
            offered = false;
            idle_cycles = 0;
        }
        if (has_word && takes) {
            words.push_back(word);
            idle_cycles = 0;
        }
        if (!limit && idle_cycles == stall_limit) error = STALLED;
    }

    double stalls = 0;
    uint64_t stall_limit = 0;
    std::mt19937_64 random;
    std::vector<uint64_t> requests;
    uint64_t sent = 0;
    uint64_t expected = 0;
    std::vector<uint32_t> words;
    uint64_t limit = 0;
    uint64_t cycles = 0;
    uint64_t idle_cycles = 0;
    bool works = false;
    bool offered = false;
    bool valid = false;
    bool takes = false;
    bool ended = false;
    // A response that was offered and not taken.
    bool waits = false;
    uint32_t waiting = 0;
    int error = 0;
} host;

}  // namespace

extern "C" {

void host_begin(svBit* request_valid, long long* request, svBit* response_ready, svBit* ended) {
    host.begin();
    *request_valid = host.valid;
    if (host.valid) *request = host.requests[host.sent];
    *response_ready = host.takes;
    *ended = host.ended;
}

void host_end(svBit reset, svBit request_ready, svBit response_valid, int response) {
    host.end(reset, request_ready, response_valid, response);
}

// A host that has nothing to do, and that pauses in this share of the cycles.
void host_open(double stalls, uint64_t seed, uint64_t stall_limit) {
    const bool ended = host.ended;
    host = Host();
    host.ended = ended;
    host.stalls = stalls;
    host.random.seed(seed);
    host.stall_limit = stall_limit;
}

// Requests for the cycle that has begun and those behind it: until all are answered or, if not 0,
// for so many cycles, in which no response is taken.
void host_send(const uint64_t* requests, uint64_t count, uint64_t cycles) {
    host.requests.assign(requests, requests + count);
    host.sent = host.expected = host.cycles = host.idle_cycles = 0;
    for (uint64_t request : host.requests) host.expected += !(request & WRITE);
    host.words.clear();
    host.limit = cycles;
    host.offered = false;
    host.works = true;
}

uint64_t host_cycles() { return host.cycles; }

uint64_t host_sent() { return host.sent; }

// Copies the words that were read.
void host_words(uint32_t* words) {
    for (uint32_t word : host.words) *words++ = word;
}

// STALLED, CHANGED or none.
int host_error() { return host.error; }

}  // extern "C"
