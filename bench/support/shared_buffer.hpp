// Buffers that all ranks of a group can reach, wherever the ranks are, and what optimizers are measured on.
#pragma once

#include <plait/fabric/communicator.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// One rank's buffer, and where those of all ranks are.
template <class T, plait::communicator Comm>
struct shared_buffer {
    decltype(std::declval<Comm&>().template symmetric<T>(0)) memory;
    std::span<T> mine;
    std::vector<T*> all;

    shared_buffer(Comm& comm, std::int64_t n)
        : memory(comm.template symmetric<T>(static_cast<std::size_t>(n))), mine(memory)
    {
        const plait::buffer_handle handle = comm.handle_of(mine.data(), mine.size_bytes());
        for (const void* theirs : comm.exchange(&handle, sizeof handle, "addresses")) {
            const int rank = static_cast<int>(all.size());
            all.push_back(static_cast<T*>(comm.resolve(rank, *static_cast<const plait::buffer_handle*>(theirs))));
            if (all.back() == nullptr) { throw std::runtime_error("the ranks share no memory"); }
        }
        comm.barrier("addresses have been read");
    }
};

inline float gradient(std::size_t i, int rank)
{
    return 0.01F * static_cast<float>(static_cast<int>((i * 7919 + static_cast<std::size_t>(rank) * 31) % 201) - 100);
}

/// Refuses to time what gives another result.
inline void must_agree(const char* what, std::span<const float> a, std::span<const float> b)
{
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!(std::fabs(a[i] - b[i]) <= 1e-6F * std::fmax(1.0F, std::fabs(b[i])))) {
            throw std::runtime_error(std::string(what) + " gives other parameters, element " + std::to_string(i));
        }
    }
}

}  // namespace bench
