// What a test may ask of the emulator that its program runs in. Link with the emulator's library, or use weak symbols.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Chooses another order of execution for what follows. 0 is fair.
void emulator_set_seed(unsigned long long seed);
/// Sets one of: races, stale_loads, uninitialised, counters, print, stuck_after. Returns 0 when there is no such setting.
int emulator_set(const char* name, unsigned long long value);
/// Reports since the last clear. Reading them means that they are expected: they no longer fail the program at its end.
size_t emulator_report_count(void);
/// `race: ...`; null beyond the last.
const char* emulator_report(size_t i);
void emulator_clear_reports(void);
/// Counters of the kernels that have ended since the last clear, as JSON or as a table. Valid until the next call.
const char* emulator_counters_json(void);
const char* emulator_counters_table(void);
void emulator_clear_counters(void);
/// Instructions executed so far: of warps, and of threads in kernels that have ended.
unsigned long long emulator_warp_instructions(void);
unsigned long long emulator_thread_instructions(void);

#ifdef __cplusplus
}
#endif
