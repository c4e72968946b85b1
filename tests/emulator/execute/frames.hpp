// Frames of calls, and the lanes' way through them.
#pragma once

#include "context.hpp"

namespace emulator {

/// A frame of the function for these lanes, its special registers filled in. Lanes start at the first instruction.
frame& enter(warp& w, const function& f, std::uint32_t lanes, frame* caller, const instruction* call);
/// Lanes that have left the frame; it is freed with the last.
void leave(warp& w, frame& f, std::uint32_t lanes);
/// Brings lanes that called the same function from the same instruction at different times into one frame. False when
/// that is not how they differ.
bool merge_frames(warp& w, std::uint32_t lanes);
/// Lanes that end their thread.
void exit_lanes(warp& w, std::uint32_t lanes);
/// A context for some lanes of a warp that are in one frame.
context context_of(warp& w, frame& f, std::uint32_t lanes);
/// Creates the warps of a block, ready to run.
void start_threads(block& b);

}  // namespace emulator
