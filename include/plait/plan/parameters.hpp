// What a schedule leaves open, and measurement can settle: how many chunks, which algorithm.
#pragma once

#include <cstdint>
#include <string>

namespace plait {

/// How an unfused all_reduce works. one_shot: every rank combines the whole by itself. two_shot: each combines a slice and
/// hands it to all.
enum class all_reduce_algorithm : std::uint8_t { automatic, one_shot, two_shot };
/// How a host rank writes what other ranks are to have. streaming: past its caches, so that lines are not read before they
/// are written.
enum class peer_stores : std::uint8_t { automatic, cached, streaming };

/// What all ranks set alike for an executable (executable::set_parameters). But for multicast, results do not depend on it; by
/// default plait chooses from extents and the number of ranks alone.
struct parameters {
    int chunks = 0;  ///< of each pipeline of `overlap`, as far as its extents allow; 0: plait chooses
    all_reduce_algorithm all_reduce = all_reduce_algorithm::automatic;
    peer_stores stores = peer_stores::automatic;
    /// Whether devices add up ranks' f32, f16 and bf16, and store to all ranks, by multicast, where their communicator offers it
    /// (nccl_multicast_communicator); elsewhere it changes nothing. The order in which ranks are added is then the switch's:
    /// results are no longer equal in all bits to those of other schedules and runs. So that ranks still agree, one rank adds an
    /// element for all: an automatic all_reduce is two_shot, and a one_shot one is done without. `tune` never chooses it.
    bool multicast = false;
    bool operator==(const parameters&) const = default;
};

/// As text: "16 chunks, one-shot, streaming stores, multicast"; "" if plait chooses everything.
inline std::string text_of(const parameters& p)
{
    std::string s;
    const auto add = [&s](const std::string& what) { s += (s.empty() ? "" : ", ") + what; };
    if (p.chunks > 0) { add(std::to_string(p.chunks) + (p.chunks == 1 ? " chunk" : " chunks")); }
    if (p.all_reduce != all_reduce_algorithm::automatic) {
        add(p.all_reduce == all_reduce_algorithm::one_shot ? "one-shot" : "two-shot");
    }
    if (p.stores != peer_stores::automatic) { add(p.stores == peer_stores::cached ? "cached stores" : "streaming stores"); }
    if (p.multicast) { add("multicast"); }
    return s;
}

}  // namespace plait
