// Waves of a Verilated design in an FST file, or how often its signals change in a SAIF file;
// nothing at all in a simulator built without trace.
#pragma once

#include <memory>

#include "Vtop.h"
#if VM_TRACE_SAIF
#include "verilated_saif_c.h"
using TraceFile = VerilatedSaifC;
#elif VM_TRACE
#include "verilated_fst_c.h"
using TraceFile = VerilatedFstC;
#endif

class Wave {
   public:
    // To be called before the design is made. No path, no file.
    Wave(VerilatedContext& context, const char* path) {
#if VM_TRACE
        if (path) {
            context.traceEverOn(true);
            path_ = path;
        }
#endif
    }

#if VM_TRACE
    void attach(Vtop& design) {
        if (path_.empty()) return;
        file_ = std::make_unique<TraceFile>();
        design.trace(file_.get(), 99);
        file_->open(path_.c_str());
    }

    // Records every signal at `time`, in half cycles.
    void dump(uint64_t time) {
        if (file_) file_->dump(time);
    }

    ~Wave() {
        if (file_) file_->close();
    }

   private:
    std::string path_;
    std::unique_ptr<TraceFile> file_;
#else
    void attach(Vtop&) {}
    void dump(uint64_t) {}
#endif
};
