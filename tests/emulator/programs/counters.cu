// Counters as assertions: bytes, sectors, bank conflicts, 128-bit accesses and instructions of small kernels.
#include "programs/check.hpp"

__global__ void copy(float* out, const float* in)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void copy4(float4* out, const float4* in)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void strided(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x * 8]; }
__global__ void banks(float* out, int stride)
{
    __shared__ float s[32 * 32];
    s[threadIdx.x * static_cast<unsigned>(stride)] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * static_cast<unsigned>(stride)];
}

/// The first number after "name": in the JSON, after the part `within` has begun.
long long number(const char* name, const char* within = nullptr)
{
    const std::string json = emulator_counters_json();
    std::size_t at = within != nullptr ? json.find(std::string("\"") + within + "\"") : 0;
    at = json.find(std::string("\"") + name + "\": ", at);
    return at == std::string::npos ? -1 : std::atoll(json.c_str() + at + std::strlen(name) + 4);
}

template <class F>
void counted(F f)
{
    emulator_clear_counters();
    f();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

int main()
{
    check::device_array<float> in(std::vector<float>(4096, 1.0f)), out(4096);
    counted([&] { copy<<<4, 256>>>(out, in); });
    CHECK(number("bytes_loaded", "global") == 4096);
    CHECK(number("bytes_stored", "global") == 4096);
    CHECK(number("load_requests", "global") == 32);
    CHECK(number("sectors_loaded", "global") == 32 * 4);
    CHECK(number("requests_of_16_bytes", "global") == 0);
    CHECK(number("blocks") == 4);
    CHECK(number("memory", "thread_instructions_by_class") == 2 * 1024);
    CHECK(number("thread_instructions") == 32 * number("warp_instructions"));
    counted(
        [&] { copy4<<<4, 256>>>(reinterpret_cast<float4*>(out.data()), reinterpret_cast<const float4*>(in.data())); });
    CHECK(number("bytes_loaded", "global") == 16384);
    CHECK(number("sectors_stored", "global") == 16384 / 32);
    CHECK(number("requests_of_16_bytes", "global") == 64);
    counted([&] { strided<<<1, 256>>>(out, in); });
    CHECK(number("sectors_loaded", "global") == 256);
    CHECK(number("sectors_stored", "global") == 32);
    const int conflicts[][2] = {{1, 0}, {2, 2 * 1}, {4, 2 * 3}, {32, 2 * 31}, {33 - 2, 0}};
    for (const auto& c : conflicts) {
        counted([&] { banks<<<1, 32>>>(out, c[0]); });
        CHECK(number("bank_conflicts") == c[1]);
        CHECK(number("barriers") == 1);
    }
    std::printf("%s", emulator_counters_table());
    CHECK(emulator_report_count() == 0);
    return check::result();
}
