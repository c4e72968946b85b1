// Products by a warpgroup, four warps, of operands in shared memory: PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions", which only sm_90a has.
#pragma once

#include <plait/core/dtype.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace plait::cuda {

/// An operand in shared memory without swizzling: core matrices, 8 times 16 bytes in a row each, of which `leading` bytes lie
/// between neighbours along k, and `stride` between neighbours along the rows of a or the columns of b.
__device__ inline std::uint64_t matrix_descriptor(const void* begin, int leading, int stride)
{
    const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(begin));
    return static_cast<std::uint64_t>((at & 0x3ffff) >> 4) | static_cast<std::uint64_t>(leading >> 4) << 16 |
           static_cast<std::uint64_t>(stride >> 4) << 32;
}

/// What this thread has stored to shared memory is there for the products of those that meet it at a barrier afterwards.
__device__ inline void show_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#define PLAIT_ACCUMULATORS \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define PLAIT_IN_OUT \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
    "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
    "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
    "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
    "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
    "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
    "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
    "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])

/// d += a b + next_a next_b, 16 terms each, with d 64 x 128. Of the 16 rows that a warp has of d, a lane holds in d[4 j] and
/// d[4 j + 1] neighbours of row lane / 4 and columns 8 j + 2 (lane % 4), and in the next two those eight rows below.
/// `TransposedA`: a core matrix's 16 bytes are neighbours in a column of a, not along k; `TransposedB`: in a row of b.
/// From fence to wait in one statement, so that the compiler has no place to move an accumulator in between.
template <dtype D, int TransposedA, int TransposedB>
__device__ void multiply_shared(float (&d)[64], std::uint64_t a, std::uint64_t b, std::uint64_t next_a, std::uint64_t next_b)
{
#define PLAIT_MULTIPLY(type)                                                                                          \
    asm volatile("{\n"                                                                                                \
                 "wgmma.fence.sync.aligned;\n"                                                                        \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." type " {" PLAIT_ACCUMULATORS "}, %64, %65, 1, 1, 1, %68, %69;\n" \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." type " {" PLAIT_ACCUMULATORS "}, %66, %67, 1, 1, 1, %68, %69;\n" \
                 "wgmma.commit_group.sync.aligned;\n"                                                                 \
                 "wgmma.wait_group.sync.aligned 0;\n"                                                                 \
                 "}"                                                                                                  \
                 : PLAIT_IN_OUT                                                                                       \
                 : "l"(a), "l"(b), "l"(next_a), "l"(next_b), "n"(TransposedA), "n"(TransposedB)                       \
                 : "memory")
    if constexpr (D == dtype::f16) { PLAIT_MULTIPLY("f16.f16"); }
    else { PLAIT_MULTIPLY("bf16.bf16"); }
#undef PLAIT_MULTIPLY
}

#undef PLAIT_ACCUMULATORS
#undef PLAIT_IN_OUT

}  // namespace plait::cuda
