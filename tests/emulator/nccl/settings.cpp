#include "settings.hpp"

#include <cstdlib>

namespace emulator::nccl {
namespace {

int number(const char* name, int otherwise)
{
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

}  // namespace

settings_type settings()
{
    settings_type s;
    s.several_ranks_on_a_device = number("NCCL_MULTI_RANK_GPU_ENABLE", 0) != 0;
    s.timeout = number("EMULATOR_NCCL_TIMEOUT", s.timeout);
    s.lsa_size = number("EMULATOR_NCCL_LSA_SIZE", s.lsa_size);
    s.multimem = number("EMULATOR_NCCL_MULTIMEM", 1) != 0;
    s.lost_rank = number("EMULATOR_NCCL_LOST_RANK", s.lost_rank);
    s.lost_after = number("EMULATOR_NCCL_LOST_AFTER", s.lost_after);
    s.error = number("EMULATOR_NCCL_ERROR", s.error);
    s.error_after = number("EMULATOR_NCCL_ERROR_AFTER", s.error_after);
    return s;
}

}  // namespace emulator::nccl
