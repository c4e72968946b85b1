#pragma once
namespace emulator {
class shadow_memory {
    int x = 0;
};
}  // namespace emulator
