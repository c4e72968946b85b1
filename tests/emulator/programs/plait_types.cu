// plait's own element types in device code: all 16-bit values, against the same code on the host.
#include "programs/check.hpp"

#include <plait/core/dtype.hpp>

template <class Out, class In>
__global__ void convert(Out* out, const In* in, int n)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) { out[i] = static_cast<Out>(static_cast<float>(in[i])); }
}

template <class Out, class In>
void test()
{
    std::vector<In> in(65536);
    for (unsigned k = 0; k < 65536; ++k) {
        const auto bits = static_cast<std::uint16_t>(k);
        std::memcpy(&in[k], &bits, 2);
    }
    check::device_array<In> din(in);
    check::device_array<Out> dout(in.size());
    convert<<<256, 256>>>(dout.data(), din.data(), 65536);
    const auto got = dout.host();
    for (unsigned k = 0; k < 65536; ++k) {
        const auto expected = static_cast<Out>(static_cast<float>(in[k]));
        const bool nan = static_cast<float>(expected) != static_cast<float>(expected);
        CHECK(nan ? static_cast<float>(got[k]) != static_cast<float>(got[k])
                  : std::memcmp(&got[k], &expected, sizeof expected) == 0);
    }
}

int main()
{
    test<float, plait::f16>();
    test<float, plait::bf16>();
    test<plait::bf16, plait::f16>();
    test<plait::f16, plait::bf16>();
    CHECK(emulator_report_count() == 0);
    return check::result();
}
