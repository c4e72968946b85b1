// The same programs on the host and on CUDA peers give the same bits: f32, without transcendental functions.
#include "cuda/memory.cuh"

#include <plait/cuda.cuh>
#include <plait/fabric/threads.hpp>
#include <plait/optim/adam.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace {

namespace pl = plait;

std::vector<float> numbers(std::int64_t n, int which)
{
    std::vector<float> x(static_cast<std::size_t>(n));
    std::uint32_t state = 12345U + 977U * static_cast<std::uint32_t>(which);
    for (float& v : x) {
        state = state * 1664525U + 1013904223U;
        v = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
    }
    return x;
}

/// Three steps of an optimizer on one rank's buffers; parameters and state of the rank after them.
template <class O, class Program, class Communicator, class Buffer>
void train(Program program, Communicator& comm, Buffer& g, Buffer& p, Buffer& m, Buffer& v)
{
    pl::executable run{program, comm};
    for (int step = 1; step <= 3; ++step) {
        std::vector<pl::binding> b{O::g = g, O::p = p, O::m = m, O::lr = 0.01F};
        if constexpr (requires { O::v; }) {
            const pl::binding rest[] = {O::v = v, O::beta1 = 0.9F, O::beta2 = 0.99F, O::eps = 1e-6F,
                                        O::c1 = pl::optim::bias_correction(0.9F, step), O::c2 = pl::optim::bias_correction(0.99F, step)};
            b.insert(b.end(), std::begin(rest), std::end(rest));
        }
        if constexpr (requires { O::momentum; }) { b.push_back(O::momentum = 0.9F); }
        if constexpr (requires { O::weight_decay; }) { b.push_back(O::weight_decay = 0.1F); }
        run.run(b);
    }
}

using results = std::vector<std::vector<float>>;  // by rank: p, m, v one after the other

template <class O, class Program>
results on_host(Program program, int ranks, std::int64_t n)
{
    results all(static_cast<std::size_t>(ranks));
    pl::threads::run(ranks, [&](pl::thread_communicator& comm) {
        const auto part = pl::slice_of(n, comm.rank(), ranks);
        std::vector<float> g = numbers(n, comm.rank()), p = numbers(n, 100), m(static_cast<std::size_t>(part.count)), v = m;
        train<O>(program, comm, g, p, m, v);
        p.insert(p.end(), m.begin(), m.end());
        p.insert(p.end(), v.begin(), v.end());
        all[static_cast<std::size_t>(comm.rank())] = p;
    });
    return all;
}
template <class O, class Program>
results on_devices(Program program, int ranks, std::int64_t n)
{
    results all(static_cast<std::size_t>(ranks));
    pl::cuda_peers::run(
        ranks,
        [&](pl::cuda_communicator& comm) {
            const auto part = pl::slice_of(n, comm.rank(), ranks);
            auto g = comm.symmetric<float>(static_cast<std::size_t>(n)), p = comm.symmetric<float>(static_cast<std::size_t>(n));
            auto m = comm.symmetric<float>(static_cast<std::size_t>(part.count)), v = comm.symmetric<float>(static_cast<std::size_t>(part.count));
            const auto fill = [&](auto& b, const std::vector<float>& x) {
                pl::cuda::check(cudaMemcpyAsync(b.data(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice, comm.stream()), "test");
                comm.synchronize();
            };
            fill(g, numbers(n, comm.rank()));
            fill(p, numbers(n, 100));
            train<O>(program, comm, g, p, m, v);
            comm.synchronize();
            comm.barrier("trained");
            std::vector<float>& mine = all[static_cast<std::size_t>(comm.rank())];
            for (const auto* b : {&p, &m, &v}) {
                std::vector<float> x(b->size());
                pl::cuda::check(cudaMemcpy(x.data(), b->data(), x.size() * sizeof(float), cudaMemcpyDeviceToHost), "test");
                mine.insert(mine.end(), x.begin(), x.end());
            }
        },
        cuda_test::devices());
    return all;
}

template <class O, class Program>
void compare(Program program, const char* name)
{
    for (const int ranks : {1, 2, 3, 4}) {
        for (const std::int64_t n : {std::int64_t{37}, std::int64_t{4096}}) {
            INFO(name, " on ", ranks, " ranks, N = ", n);
            const results host = on_host<O>(program, ranks, n), devices = on_devices<O>(program, ranks, n);
            for (std::size_t r = 0; r < host.size(); ++r) {
                REQUIRE(host[r].size() == devices[r].size());
                CHECK(std::memcmp(host[r].data(), devices[r].data(), host[r].size() * sizeof(float)) == 0);
            }
        }
    }
}

// Without fused multiply-add (plain x86-64) the host rounds twice where devices round once: built with it, or not compared.
TEST_CASE("CUDA: optimizers of f32 have the host's bits")
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    compare<pl::optim::sgd<>>(pl::optim::sgd<>::fused, "sgd, fused");
    compare<pl::optim::adam<>>(pl::optim::adam<>::fused, "adam, fused");
#else
    MESSAGE("skipped: this processor has no fused multiply-add");
    CHECK(true);
#endif
}

}  // namespace
