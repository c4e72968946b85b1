// CUB of the toolkit: warp, block and device-wide reductions and scans, and a radix sort, against the standard library.
#include "programs/check.hpp"

#include <cub/cub.cuh>

#include <algorithm>
#include <numeric>
#include <random>

__global__ void block_reduce(float* out, const float* in)
{
    using reduce = cub::BlockReduce<float, 256>;
    __shared__ typename reduce::TempStorage storage;
    const float sum = reduce(storage).Sum(in[threadIdx.x]);
    if (threadIdx.x == 0) { *out = sum; }
}

__global__ void block_scan(int* out, const int* in)
{
    using scan = cub::BlockScan<int, 128>;
    __shared__ typename scan::TempStorage storage;
    int before = 0;
    scan(storage).ExclusiveSum(in[threadIdx.x], before);
    out[threadIdx.x] = before;
}

__global__ void warp_reduce(int* out, const int* in)
{
    using reduce = cub::WarpReduce<int>;
    __shared__ typename reduce::TempStorage storage[4];
    const int most = reduce(storage[threadIdx.x / 32]).Reduce(in[threadIdx.x], cuda::maximum<>{});
    if (threadIdx.x % 32 == 0) { out[threadIdx.x / 32] = most; }
}

template <class F>
void with_storage(F f)
{
    std::size_t bytes = 0;
    CHECK(f(nullptr, bytes) == cudaSuccess);
    check::device_array<char> storage(bytes);
    CHECK(f(static_cast<void*>(storage.data()), bytes) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

std::vector<int> random_numbers(int n)
{
    std::mt19937 random(static_cast<unsigned>(n));
    std::vector<int> v(static_cast<std::size_t>(n));
    for (int& x : v) { x = static_cast<int>(random() % 20001) - 10000; }
    return v;
}

void test_blocks()
{
    const auto v = random_numbers(256);
    check::device_array<int> in(v), out(256);
    std::vector<float> f(v.begin(), v.end());
    check::device_array<float> fin(f), fout(1);
    block_reduce<<<1, 256>>>(fout, fin);
    CHECK(fout.host()[0] == static_cast<float>(std::accumulate(v.begin(), v.end(), 0)));
    block_scan<<<1, 128>>>(out, in);
    std::vector<int> expected(128);
    std::exclusive_scan(v.begin(), v.begin() + 128, expected.begin(), 0);
    auto got = out.host();
    CHECK(std::equal(expected.begin(), expected.end(), got.begin()));
    warp_reduce<<<1, 128>>>(out, in);
    got = out.host();
    for (int w = 0; w < 4; ++w) { CHECK(got[w] == *std::max_element(v.begin() + w * 32, v.begin() + w * 32 + 32)); }
}

void test_device(int n)
{
    const auto v = random_numbers(n);
    check::device_array<int> in(v), out(v.size());
    with_storage([&](void* t, std::size_t& b) { return cub::DeviceReduce::Sum(t, b, in.data(), out.data(), n); });
    CHECK(out.host()[0] == std::accumulate(v.begin(), v.end(), 0));
    with_storage([&](void* t, std::size_t& b) { return cub::DeviceReduce::Max(t, b, in.data(), out.data(), n); });
    CHECK(out.host()[0] == *std::max_element(v.begin(), v.end()));
    with_storage(
        [&](void* t, std::size_t& b) { return cub::DeviceScan::InclusiveSum(t, b, in.data(), out.data(), n); });
    std::vector<int> expected(v.size());
    std::partial_sum(v.begin(), v.end(), expected.begin());
    CHECK(out.host() == expected);
    with_storage(
        [&](void* t, std::size_t& b) { return cub::DeviceRadixSort::SortKeys(t, b, in.data(), out.data(), n); });
    expected = v;
    std::sort(expected.begin(), expected.end());
    CHECK(out.host() == expected);
}

int main()
{
    for (unsigned seed = 0; seed < 3; ++seed) {
        emulator_set_seed(seed);
        test_blocks();
        for (int n : {1, 1000, 50000}) { test_device(n); }
    }
    for (std::size_t k = 0; k < emulator_report_count(); ++k) { std::printf("%s\n", emulator_report(k)); }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
