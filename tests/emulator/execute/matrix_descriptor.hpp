// Where the elements of a wgmma operand in shared memory lie (PTX ISA, "Matrix Descriptor Format", "Strides", "Canonical
// Layouts"), without swizzling.
#pragma once

#include <cstdint>

namespace emulator {

inline constexpr unsigned product_depth = 16;
inline constexpr unsigned core_row = 16;  // bytes: 8 elements

/// Bits 0-13 are the start address, 16-29 the leading and 32-45 the stride dimension byte offset, each without its four
/// lowest bits; 49-51 the base offset, 62-63 the swizzling mode; all others are 0.
struct matrix_descriptor {
    std::uint64_t start, leading, stride;

    explicit matrix_descriptor(std::uint64_t bits)
        : start{(bits & 0x3fff) << 4}, leading{(bits >> 16 & 0x3fff) << 4}, stride{(bits >> 32 & 0x3fff) << 4}
    {
    }
    /// What these bits must not say, or nullptr.
    static const char* fault_of(std::uint64_t bits)
    {
        constexpr std::uint64_t reserved = 0x3ull << 14 | 0x3ull << 30 | 0x7ull << 46 | 0x3ffull << 52;
        if ((bits & reserved) != 0) { return "bits of a matrix descriptor are set that must be 0"; }
        if (bits >> 62 != 0) { return "a swizzled operand is not implemented"; }
        if ((bits >> 49 & 7) != 0) { return "a base offset in the descriptor of an operand without swizzling"; }
        return nullptr;
    }
    // With T = 8 elements of 16 bits to 16 bytes.
    /// K-major ((8,m),(T,2k)):((1T,SBO),(1,LBO)): 16 bytes are 8 neighbours along k of one row of the operand.
    std::uint64_t along_k(unsigned row, unsigned k_group) const
    {
        return start + row % 8 * core_row + row / 8 * stride + k_group * leading;
    }
    /// MN-major ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO)): 16 bytes are 8 rows of the operand at one k.
    std::uint64_t along_rows(unsigned row_group, unsigned k) const
    {
        return start + k % 8 * core_row + row_group * stride + k / 8 * leading;
    }
};

/// Calls f(first row, first k) for each 16 bytes of rows [row, row + n).
template <class F>
void for_core_rows(bool transposed, unsigned row, unsigned n, F&& f)
{
    for (unsigned r = row; r < row + n; r += transposed ? 8 : 1) {
        for (unsigned k = 0; k < product_depth; k += transposed ? 1 : 8) { f(r, k); }
    }
}

}  // namespace emulator
