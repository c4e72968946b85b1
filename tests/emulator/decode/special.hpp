// Names of special registers (PTX ISA, "Special Registers").
#pragma once

#include "program.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace emulator {

struct special_description {
    std::string_view name;
    special which;
    unsigned width;
};

inline constexpr special_description special_registers[] = {
    {"%tid.x", special::tid_x, 4},
    {"%tid.y", special::tid_y, 4},
    {"%tid.z", special::tid_z, 4},
    {"%ntid.x", special::ntid_x, 4},
    {"%ntid.y", special::ntid_y, 4},
    {"%ntid.z", special::ntid_z, 4},
    {"%ctaid.x", special::ctaid_x, 4},
    {"%ctaid.y", special::ctaid_y, 4},
    {"%ctaid.z", special::ctaid_z, 4},
    {"%nctaid.x", special::nctaid_x, 4},
    {"%nctaid.y", special::nctaid_y, 4},
    {"%nctaid.z", special::nctaid_z, 4},
    {"%laneid", special::laneid, 4},
    {"%warpid", special::warpid, 4},
    {"%nwarpid", special::nwarpid, 4},
    {"%smid", special::smid, 4},
    {"%nsmid", special::nsmid, 4},
    {"%gridid", special::gridid, 8},
    {"%lanemask_eq", special::lanemask_eq, 4},
    {"%lanemask_le", special::lanemask_le, 4},
    {"%lanemask_lt", special::lanemask_lt, 4},
    {"%lanemask_ge", special::lanemask_ge, 4},
    {"%lanemask_gt", special::lanemask_gt, 4},
    {"%envreg1", special::envreg1, 4},
    {"%envreg2", special::envreg2, 4},
    {"%dynamic_smem_size", special::dynamic_smem_size, 4},
    {"%total_smem_size", special::total_smem_size, 4},
    {"%aggr_smem_size", special::aggr_smem_size, 4},
    // Without clusters every block is a cluster of its own.
    {"%cluster_ctaid.x", special::cluster_ctaid_x, 4},
    {"%cluster_ctaid.y", special::cluster_ctaid_y, 4},
    {"%cluster_ctaid.z", special::cluster_ctaid_z, 4},
    {"%cluster_nctaid.x", special::cluster_nctaid_x, 4},
    {"%cluster_nctaid.y", special::cluster_nctaid_y, 4},
    {"%cluster_nctaid.z", special::cluster_nctaid_z, 4},
    {"%cluster_ctarank", special::cluster_ctarank, 4},
    {"%cluster_nctarank", special::cluster_nctarank, 4},
    {"%clusterid.x", special::clusterid_x, 4},
    {"%clusterid.y", special::clusterid_y, 4},
    {"%clusterid.z", special::clusterid_z, 4},
    {"%nclusterid.x", special::nclusterid_x, 4},
    {"%nclusterid.y", special::nclusterid_y, 4},
    {"%nclusterid.z", special::nclusterid_z, 4},
    {"%clock", special::clock, 4},
    {"%clock64", special::clock64, 8},
    {"%globaltimer", special::globaltimer, 8},
    {"%globaltimer_lo", special::globaltimer_lo, 4},
    {"%globaltimer_hi", special::globaltimer_hi, 4},
};

inline std::optional<special_description> find_special_register(std::string_view name)
{
    for (const special_description& s : special_registers) {
        if (s.name == name) { return s; }
    }
    return std::nullopt;
}

inline bool is_clock(special s) { return s >= special::clock; }

}  // namespace emulator
