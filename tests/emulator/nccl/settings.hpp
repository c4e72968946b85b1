// What the environment asks of the NCCL stand-in.
#pragma once

namespace emulator::nccl {

struct settings_type {
    bool several_ranks_on_a_device = false;  ///< NCCL_MULTI_RANK_GPU_ENABLE
    int timeout = 30;                        ///< seconds that the host waits for ranks that do not call
    int lsa_size = 0;                        ///< ranks that can load from each other; 0: all
    bool multimem = true;                    ///< multicast memory, where capability and devices allow it
    int lost_rank = -1;                      ///< never arrives ...
    int lost_after = 0;                      ///< ... after so many calls
    int error = 0;                           ///< an asynchronous error ...
    int error_after = 0;                     ///< ... after so many calls of a rank
};

/// Read again for each communicator: see the README for the variables.
settings_type settings();

}  // namespace emulator::nccl
