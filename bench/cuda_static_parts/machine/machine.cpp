// Runs a kernel's machine code: all blocks are resident, and their warps take turns.
//
// Lanes of a warp that went different ways go on as strands, which meet again where convergence
// barriers (BSSY, BSYNC) or WARPSYNC say.
#include <algorithm>
#include <cstdio>

#include "machine.h"
#include "strands.h"

namespace {

// Instructions of a turn: few, so that blocks take tasks as if they ran at the same time.
constexpr u32 TURN = 16;

class Scheduler {
   public:
    explicit Scheduler(Launch& launch) : launch_(launch) {}

    void run() {
        u64 left = 0;
        for (Block& block : launch_.blocks) left += block.warps.size();
        while (left) {
            bool progress = false;
            for (Block& block : launch_.blocks) {
                for (Warp& warp : block.warps) {
                    if (!warp.alive) continue;
                    progress |= turn(block, warp);
                    left -= !warp.alive;
                }
            }
            if (!progress) fail(0, "all warps wait");
        }
    }

   private:
    // Whether it executed anything.
    bool turn(Block& block, Warp& warp) {
        u32 executed = 0;
        while (warp.alive && executed < TURN) {
            const auto ready =
                std::find_if(warp.strands.begin(), warp.strands.end(),
                             [](const Strand& each) { return each.state == Strand::ready; });
            if (ready == warp.strands.end()) break;
            Strand strand = *ready;
            warp.strands.erase(ready);
            executed += go_on(block, warp, strand, TURN - executed);
        }
        return executed != 0;
    }

    // Executes a strand until it waits, parts or has had its turn.
    u32 go_on(Block& block, Warp& warp, Strand strand, u32 most) {
        for (u32 executed = 1;; ++executed) {
            if (strand.at >= launch_.instructions) fail(strand.at, "runs past the end");
            const u32 at = strand.at;
            const Instruction& instruction = launch_.code[at];
            Step step{launch_, block, warp, instruction, at, strand.mask, 0};
            const u32 guard = step.predicate(instruction.guard);
            step.mask = instruction.uniform ? guard : guard & strand.mask;
            Statistics& statistics = launch_.statistics[at];
            ++statistics.executed;
            statistics.active += __builtin_popcount(strand.mask);
            statistics.effective += __builtin_popcount(guard & strand.mask);
            ++strand.at;
            if (launch_.marks) note(step);
            const bool acts = instruction.operation != NOTHING && step.mask;
            if (acts && !compute(step) && !control(step, strand)) return executed;
            if (executed >= most) {
                warp.strands.push_back(strand);
                return executed;
            }
        }
    }

    static bool compute(Step& step) {
        return step.integers() || step.reals() || step.of_lanes() || step.memory();
    }

    // Counts bursts of marked loads that load anything.
    void note(const Step& step) {
        const Mark& mark = launch_.marks[step.at];
        Warp& warp = step.warp;
        u64 used = 0, marked = 0;
        for (int part = 0; part < 4; ++part) {
            used |= mark.reads[part] & warp.pending[part];
            marked |= mark.writes[part];
        }
        if (used) end_burst(warp);
        if (!marked || !step.mask) return;
        for (int part = 0; part < 4; ++part) warp.pending[part] |= mark.writes[part];
        ++warp.loads;
        const u32 size = step.instruction.mode >> 4;
        warp.bytes += __builtin_popcount(step.mask) * size;
        warp.whole += LANES * size;
    }

    void end_burst(Warp& warp) {
        ++launch_.bursts->bursts;
        launch_.bursts->loads += warp.loads;
        launch_.bursts->bytes += warp.bytes;
        launch_.bursts->whole += warp.whole;
        warp.loads = warp.bytes = warp.whole = 0;
        std::fill(std::begin(warp.pending), std::end(warp.pending), 0);
    }

    // Whether the strand goes on.
    bool control(Step& step, Strand& strand) {
        const Instruction& each = step.instruction;
        Warp& warp = step.warp;
        switch (each.operation) {
            case BRANCH:
                return part(warp, strand, step.mask & step.predicate(each.inputs[0]), each.target);
            case BRANCH_DIVERGENT: {
                const u32 wanted = step.row(each.operands[0].row)[0] & warp.alive;
                if (strand.mask != wanted) strand.at = each.target;
                return true;
            }
            case RETURN: {
                const Row& to = step.row(each.operands[0].row);
                const u32 first = to[__builtin_ctz(step.mask)];
                u32 together = 0;
                for (int i = 0; i < LANES; ++i) {
                    together |= u32(step.mask >> i & 1 && to[i] == first) << i;
                }
                if (together != strand.mask) fail(step.at, "a return that parts");
                strand.at = first / 16;
                return true;
            }
            case BEGIN_CONVERGENCE:
                for (int i = 0; i < LANES; ++i) {
                    if (strand.mask >> i & 1) warp.convergence[each.offset][i] = strand.mask;
                }
                return true;
            case LEAVE_CONVERGENCE:
                for (u32& lanes : warp.convergence[each.offset]) lanes &= ~step.mask;
                wake_convergence(warp);
                return true;
            case CONVERGE: {
                const u32 wanted = warp.convergence[each.offset][__builtin_ctz(strand.mask)];
                if (strand.mask == (wanted & warp.alive)) return true;
                strand.state = Strand::at_convergence;
                strand.number = each.offset;
                warp.strands.push_back(strand);
                wake_convergence(warp);
                return false;
            }
            case SYNC_WARP:
                strand.wanted = step.row(each.operands[0].row)[__builtin_ctz(strand.mask)];
                if (strand.mask == (strand.wanted & warp.alive)) return true;
                strand.state = Strand::at_sync;
                warp.strands.push_back(strand);
                wake_sync(warp);
                return false;
            case BARRIER: return arrive(step, strand);
            case BARRIER_RESULT:
                step.write_all(warp.barrier_result);
                step.write_predicate(0, warp.barrier_result ? ALL : 0);
                return true;
            case EXIT: return leave(step, strand);
        }
        fail(step.at, "not known");
    }

    bool part(Warp& warp, Strand& strand, u32 taken, u32 target) {
        if (taken == strand.mask) {
            strand.at = target;
            return true;
        }
        if (!taken) return true;
        Strand other = strand;
        other.mask = taken;
        other.at = target;
        strand.mask &= ~taken;
        warp.strands.push_back(other);
        return true;
    }

    bool arrive(Step& step, Strand& strand) {
        const Instruction& each = step.instruction;
        Barrier& barrier = step.block.barriers[each.offset];
        const u32 kind = each.mode & 15;
        const u32 votes = step.predicate(each.inputs[0]) & strand.mask;
        barrier.arrived += __builtin_popcount(strand.mask);
        barrier.count = each.target;
        barrier.any |= votes != 0;
        barrier.all += __builtin_popcount(votes);
        if (kind != 2) {
            strand.state = Strand::at_barrier;
            strand.number = each.offset;
            strand.wanted = each.mode >> 4;
            step.warp.strands.push_back(strand);
        }
        complete(step.block, each.offset);
        return kind == 2;
    }

    static u32 result_of(const Barrier& barrier, u32 reduction) {
        if (reduction == 0) return barrier.all;
        return reduction == 1 ? barrier.all == barrier.arrived : barrier.any;
    }

    void complete(Block& block, u32 number) {
        Barrier& barrier = block.barriers[number];
        const u32 wanted = barrier.count ? barrier.count : block.threads_alive;
        if (!barrier.arrived || barrier.arrived < wanted) return;
        for (Warp& warp : block.warps) {
            auto waits = [=](const Strand& each) {
                return each.state == Strand::at_barrier && each.number == number;
            };
            for (const Strand& each : warp.strands) {
                if (waits(each)) warp.barrier_result = result_of(barrier, each.wanted);
            }
            join(warp, waits);
        }
        barrier = {};
    }

    bool leave(Step& step, Strand& strand) {
        const u32 gone = step.mask & step.predicate(step.instruction.inputs[0]);
        Warp& warp = step.warp;
        warp.alive &= ~gone;
        strand.mask &= ~gone;
        step.block.threads_alive -= __builtin_popcount(gone);
        wake_convergence(warp);
        wake_sync(warp);
        for (u32 number = 0; number < BARRIERS; ++number) complete(step.block, number);
        return strand.mask != 0;
    }

    Launch& launch_;
};

void make_blocks(Launch& launch, u32 grid, std::vector<u32>& registers, std::vector<u8>& local) {
    const u32 warps = launch.block_threads / LANES;
    const std::size_t rows = launch.rows;
    registers.assign(std::size_t(grid) * warps * rows * LANES, 0);
    local.assign(std::size_t(grid) * launch.block_threads * LOCAL_BYTES, 0);
    launch.blocks.resize(grid);
    for (u32 number = 0; number < grid; ++number) {
        Block& block = launch.blocks[number];
        block.number = number;
        block.multiprocessor = number % launch.multiprocessors;
        block.shared.assign(launch.shared_bytes, 0);
        block.threads_alive = launch.block_threads;
        std::fill(std::begin(block.barriers), std::end(block.barriers), Barrier{});
        block.warps.resize(warps);
        for (u32 at = 0; at < warps; ++at) {
            Warp& warp = block.warps[at];
            const std::size_t place = std::size_t(number) * warps + at;
            warp = {};
            warp.registers = reinterpret_cast<Row*>(registers.data() + place * rows * LANES);
            warp.local = local.data() + place * LANES * LOCAL_BYTES;
            warp.predicates[TRUE] = warp.predicates[TRUE + 8] = ALL;
            warp.alive = ALL;
            warp.number = at;
            warp.strands.push_back({ALL, 0, Strand::ready, 0, 0});
        }
    }
}

}  // namespace

void fail(u32 at, const char* what, u64 value) {
    char text[200];
    std::snprintf(text, sizeof text, "%u %s 0x%llx", at, what,
                  static_cast<unsigned long long>(value));
    throw Failure{text};
}

// The layout of `_Launch` in kernels.py.
struct Request {
    const Instruction* code;
    const Row* pool;
    const u8* const* banks;
    const u32* bank_bytes;
    const Region* regions;
    Statistics* statistics;
    const Mark* marks;  // or null
    Bursts* bursts;
    char* message;
    u32 instructions, region_count, grid, block, rows, uniform, shared_bytes, multiprocessors;
    u32 message_bytes;
};

extern "C" bool gnarl_run_machine_code(const Request* request) {
    Launch launch{};
    launch.code = request->code;
    launch.instructions = request->instructions;
    launch.pool = request->pool;
    launch.banks = request->banks;
    launch.bank_bytes = request->bank_bytes;
    launch.regions.assign(request->regions, request->regions + request->region_count);
    launch.known.assign(request->instructions, nullptr);
    launch.block_threads = request->block;
    launch.rows = request->rows;
    launch.uniform = request->uniform;
    launch.multiprocessors = request->multiprocessors;
    launch.shared_bytes = request->shared_bytes;
    launch.statistics = request->statistics;
    launch.marks = request->marks;
    launch.bursts = request->bursts;
    std::vector<u32> registers;
    std::vector<u8> local;
    make_blocks(launch, request->grid, registers, local);
    try {
        Scheduler(launch).run();
    } catch (const Failure& failure) {
        std::snprintf(request->message, request->message_bytes, "%s", failure.text.c_str());
        return false;
    }
    return true;
}
