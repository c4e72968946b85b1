// Entry points that are not implemented: calling one ends the program with its name. They are weak, so that one that
// is implemented elsewhere wins.
#include "../error.hpp"

extern "C" {
#define X(name) \
    [[gnu::weak]] void name() { emulator::stop(#name " is not implemented"); }
#include "uncovered.inc"
#undef X
}
