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

/// What all ranks set alike for an executable (executable::set_parameters). Results do not depend on it; by default plait
/// chooses from extents and the number of ranks alone.
struct parameters {
    int chunks = 0;  ///< of each pipeline of `overlap`, as far as its extents allow; 0: plait chooses
    all_reduce_algorithm all_reduce = all_reduce_algorithm::automatic;
    peer_stores stores = peer_stores::automatic;
    bool operator==(const parameters&) const = default;
};

/// As text: "16 chunks, one-shot, streaming"; "" if plait chooses everything.
inline std::string text_of(const parameters& p)
{
    std::string s;
    const auto add = [&s](const std::string& what) { s += (s.empty() ? "" : ", ") + what; };
    if (p.chunks > 0) { add(std::to_string(p.chunks) + (p.chunks == 1 ? " chunk" : " chunks")); }
    if (p.all_reduce != all_reduce_algorithm::automatic) {
        add(p.all_reduce == all_reduce_algorithm::one_shot ? "one-shot" : "two-shot");
    }
    if (p.stores != peer_stores::automatic) { add(p.stores == peer_stores::cached ? "cached stores" : "streaming stores"); }
    return s;
}

}  // namespace plait
