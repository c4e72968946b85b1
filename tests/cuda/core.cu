// The element types in device code, and names in host code that nvcc compiles.
#include <plait/core/dtype.hpp>
#include <plait/core/fixed_string.hpp>

static_assert(plait::fixed_string("g").view() == "g");
static_assert(plait::size_of(plait::dtype::bf16) == 2);

template <class Out, class In>
__global__ void convert(Out* out, const In* in, int n)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) { out[i] = static_cast<Out>(static_cast<float>(in[i])); }
}

void launch(plait::f16* half, plait::bf16* brain, const float* in, int n)
{
    convert<<<1, 256>>>(half, in, n);
    convert<<<1, 256>>>(brain, half, n);
}
