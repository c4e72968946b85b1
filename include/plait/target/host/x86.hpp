// The few instructions of AVX2, FMA, F16C and AVX-512 that matrix products are made of. <immintrin.h> has thousands of others,
// and would be a tenth of what a source that runs programs costs to compile.
#pragma once

#if defined(__x86_64__)

// An instruction's function is inlined where its features are there, and is nothing that others may call.
#define PLAIT_X86(features) [[gnu::always_inline, gnu::target(features)]] inline

namespace plait::host::x86 {

typedef float floats8 __attribute__((vector_size(32)));
typedef float floats16 __attribute__((vector_size(64)));
typedef double doubles4 __attribute__((vector_size(32)));
typedef double doubles8 __attribute__((vector_size(64)));
typedef short shorts8 __attribute__((vector_size(16)));
typedef unsigned short words8 __attribute__((vector_size(16)));
typedef unsigned uints8 __attribute__((vector_size(32)));

namespace detail {
// In memory, at any address.
typedef float floats8_at __attribute__((vector_size(32), may_alias, aligned(1)));
typedef float floats16_at __attribute__((vector_size(64), may_alias, aligned(1)));
typedef double doubles4_at __attribute__((vector_size(32), may_alias, aligned(1)));
typedef double doubles8_at __attribute__((vector_size(64), may_alias, aligned(1)));
typedef short shorts8_at __attribute__((vector_size(16), may_alias, aligned(1)));
typedef unsigned short words8_at __attribute__((vector_size(16), may_alias, aligned(1)));
}  // namespace detail

// 32 bytes.
PLAIT_X86("avx") floats8 load_32(const float* p) { return *reinterpret_cast<const detail::floats8_at*>(p); }
PLAIT_X86("avx") doubles4 load_32(const double* p) { return *reinterpret_cast<const detail::doubles4_at*>(p); }
PLAIT_X86("avx") void store_32(float* p, floats8 v) { *reinterpret_cast<detail::floats8_at*>(p) = v; }
PLAIT_X86("avx") void store_32(double* p, doubles4 v) { *reinterpret_cast<detail::doubles4_at*>(p) = v; }
PLAIT_X86("avx") floats8 all_32(float x) { return floats8{x, x, x, x, x, x, x, x}; }
PLAIT_X86("avx") doubles4 all_32(double x) { return doubles4{x, x, x, x}; }
// 64 bytes.
PLAIT_X86("avx512f") floats16 load_64(const float* p) { return *reinterpret_cast<const detail::floats16_at*>(p); }
PLAIT_X86("avx512f") doubles8 load_64(const double* p) { return *reinterpret_cast<const detail::doubles8_at*>(p); }
PLAIT_X86("avx512f") void store_64(float* p, floats16 v) { *reinterpret_cast<detail::floats16_at*>(p) = v; }
PLAIT_X86("avx512f") void store_64(double* p, doubles8 v) { *reinterpret_cast<detail::doubles8_at*>(p) = v; }
PLAIT_X86("avx512f") floats16 all_64(float x) { return floats16{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
PLAIT_X86("avx512f") doubles8 all_64(double x) { return doubles8{x, x, x, x, x, x, x, x}; }

// a * b + c, rounded once. Later versions of clang have no name for the instruction, but one for the operation.
#if defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
PLAIT_X86("fma") floats8 fma(floats8 a, floats8 b, floats8 c) { return __builtin_elementwise_fma(a, b, c); }
PLAIT_X86("fma") doubles4 fma(doubles4 a, doubles4 b, doubles4 c) { return __builtin_elementwise_fma(a, b, c); }
PLAIT_X86("avx512f") floats16 fma(floats16 a, floats16 b, floats16 c) { return __builtin_elementwise_fma(a, b, c); }
PLAIT_X86("avx512f") doubles8 fma(doubles8 a, doubles8 b, doubles8 c) { return __builtin_elementwise_fma(a, b, c); }
#else
namespace detail {
inline constexpr short all_floats = -1;  // none is masked
inline constexpr unsigned char all_doubles = 0xff;
inline constexpr int as_set = 4;  // how sums are rounded
}
PLAIT_X86("fma") floats8 fma(floats8 a, floats8 b, floats8 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
PLAIT_X86("fma") doubles4 fma(doubles4 a, doubles4 b, doubles4 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
PLAIT_X86("avx512f") floats16 fma(floats16 a, floats16 b, floats16 c)
{
    return __builtin_ia32_vfmaddps512_mask(a, b, c, detail::all_floats, detail::as_set);
}
PLAIT_X86("avx512f") doubles8 fma(doubles8 a, doubles8 b, doubles8 c)
{
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, detail::all_doubles, detail::as_set);
}
#endif

// 8 elements of 2 bytes.
PLAIT_X86("f16c") floats8 load_f16(const void* p) { return __builtin_ia32_vcvtph2ps256(*static_cast<const detail::shorts8_at*>(p)); }
PLAIT_X86("f16c") void store_f16(void* p, floats8 v) { *static_cast<detail::shorts8_at*>(p) = __builtin_ia32_vcvtps2ph256(v, 0); }
PLAIT_X86("avx2") floats8 load_bf16(const void* p)
{
#if defined(__clang__)
    return reinterpret_cast<floats8>(__builtin_convertvector(*static_cast<const detail::words8_at*>(p), uints8) << 16);
#else
    return reinterpret_cast<floats8>(__builtin_ia32_pmovzxwd256(*static_cast<const detail::shorts8_at*>(p)) << 16);
#endif
}

}  // namespace plait::host::x86

#undef PLAIT_X86
#endif
