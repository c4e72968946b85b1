// Which part of a dimension a rank holds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait {

/// A range of indices.
struct slice_range {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    constexpr bool operator==(const slice_range&) const = default;
};

/// Part `rank` of `ranks` of a dimension of `extent` elements: [rank * c, rank * c + c), cut at the end and possibly
/// empty, where c is ceil(extent / ranks), rounded up to a multiple of 64 from 1024 on so that parts start on cache
/// lines. The same in every layout, schedule and algorithm, so that sliced state moves freely between them.
constexpr slice_range slice_of(std::int64_t extent, int rank, int ranks)
{
    std::int64_t c = (extent + ranks - 1) / ranks;
    if (c >= 1024) { c = (c + 63) / 64 * 64; }
    const std::int64_t begin = rank * c < extent ? rank * c : extent;
    const std::int64_t end = begin + c < extent ? begin + c : extent;
    return {begin, end - begin};
}

}  // namespace plait
