// Communicators: what the ranks of one share, and what each has.
#pragma once

#include "../extension/extension.hpp"
#include "call.hpp"
#include "meeting.hpp"
#include "settings.hpp"

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace emulator::nccl {

/// All that a rank does at once on its stream: the calls of a group, which NCCL fuses.
struct transfer {
    std::shared_ptr<ncclComm> of;
    std::vector<call> calls;
    std::vector<bool> done;
    std::size_t left = 0;
    operation* on_stream = nullptr;  ///< once it has begun
};

/// One call of a transfer that has begun.
struct arrival {
    std::shared_ptr<transfer> by;
    std::size_t index = 0;

    const call& what() const { return by->calls[index]; }
};

/// Calls that wait for the other ranks.
struct collective_slot {
    std::vector<arrival> ranks;
    std::size_t n = 0;
};

/// Addresses at which each rank's windows are seen by all others of its team, `stride` apart.
struct flat_space {
    std::uint64_t base = 0;
    std::uint64_t multicast = 0;  ///< where the first team sees the memory of all its ranks, each team `stride` further
    std::uint64_t stride = 0;
    std::uint64_t used = 0;
    std::uint64_t bytes = 0;  ///< reserved
};

/// What the ranks of a communicator share.
struct clique {
    unsigned number = 0;  ///< for reports
    std::vector<ncclComm*> ranks;
    int lsa_size = 1;
    bool multimem = false;  ///< whether windows are made with multicast memory
    std::map<std::uint64_t, collective_slot> collectives;
    std::map<std::array<std::uint64_t, 3>, arrival> sends, receives;  ///< by sender, receiver and sequence
    std::map<std::uint64_t, std::shared_ptr<meeting>> meetings;
    flat_space flat;
    bool broken = false;  ///< nothing on streams ends any more, except by an abort

    ~clique();
    int size() const { return static_cast<int>(ranks.size()); }
};

/// Windows of a rank's memory, known to kernels by a structure in device memory.
struct window {
    ncclWindow_t on_device = nullptr;
    void* alias = nullptr;  ///< the rank's own place in the flat space
    void* multicast = nullptr;  ///< its team's place among the multicast addresses
    void* memory = nullptr;
    std::size_t size = 0;
    bool owned = false;  ///< memory of a device communicator
};

}  // namespace emulator::nccl

/// A rank of a communicator.
struct ncclComm {
    std::shared_ptr<emulator::nccl::clique> all;
    int rank = 0;
    int ranks = 1;
    int device = 0;
    bool blocking = true;
    ncclResult_t error = ncclSuccess;
    std::shared_ptr<emulator::nccl::meeting> pending;  ///< that a call which did not block has begun
    bool aborted = false;
    bool lost = false;
    emulator::nccl::settings_type settings;
    std::uint64_t meetings = 0;
    std::uint64_t collectives = 0;
    std::vector<std::uint64_t> sent, received;
    int begun = 0;
    std::shared_ptr<emulator::operation> last;
    std::set<std::shared_ptr<emulator::nccl::transfer>> open;  ///< begun and not ended
    std::map<int, emulator::nccl::reduction> reductions;       ///< made by ncclRedOpCreatePreMulSum
    std::vector<emulator::nccl::window> windows;
    std::vector<void*> tables;  ///< of windows, in device memory
};

namespace emulator::nccl {

/// The communicator of a handle, or null.
std::shared_ptr<ncclComm> find(ncclComm_t handle);
/// Also null, with the text of the error, when it cannot be used: not complete yet, or aborted.
std::shared_ptr<ncclComm> find_usable(ncclComm_t handle, const char* what, ncclResult_t& why);
void keep(const std::shared_ptr<ncclComm>& c);
void forget(const ncclComm* c);
/// Sets up the rank's part once the clique is known.
void join(ncclComm& c, const std::shared_ptr<clique>& all, int rank);
std::shared_ptr<clique> make_clique(const std::vector<ncclComm*>& ranks);
/// The meeting that this call of the rank belongs to: each rank's n-th one meets the others' n-th.
template <class T>
meeting_of<T>* meet(ncclComm& c, const std::string& what, typename meeting_of<T>::finish_function finish)
{
    auto& m = c.all->meetings[c.meetings++];
    if (!m) { m = std::make_shared<meeting_of<T>>(what, c.ranks, std::move(finish)); }
    auto* typed = dynamic_cast<meeting_of<T>*>(m.get());
    if (typed == nullptr || m->what() != what) { return nullptr; }
    c.pending = m;
    return typed;
}

/// Sets the rank's device for a scope.
class on_device {
  public:
    explicit on_device(int device)
    {
        cudaGetDevice(&before_);
        cudaSetDevice(device);
    }
    ~on_device() { cudaSetDevice(before_); }
    on_device(const on_device&) = delete;

  private:
    int before_ = 0;
};

void remove_windows(ncclComm& c);

}  // namespace emulator::nccl
