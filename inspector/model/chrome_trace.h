// Profiles and telemetry in the trace format of Chrome, which chrome://tracing and
// ui.perfetto.dev open ("Trace Event Format").
#pragma once

#include <string>

#include "model/profile.h"
#include "model/program_model.h"
#include "model/telemetry_history.h"

namespace poprt::inspector {

// One mean run: an event for each instruction of main, one after the other, and the bytes of the
// arena in use as a counter.
std::string chrome_trace(const ProgramModel& program, const ProgramProfile& profile,
                         const std::string& name);

// Each replica is a process, with counters for its rates, latencies and queues. Events and marks
// are instants. Times begin at the first sample.
std::string chrome_trace(const TelemetryHistory& history);

}  // namespace poprt::inspector
