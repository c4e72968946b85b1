// Matrix products of one rank: plait's own and the one the library picks against a direct call of OpenBLAS.
#include "support/main.hpp"
#include "support/measure.hpp"
#include "support/records.hpp"

#include <plait/core/dtype.hpp>
#include <plait/fabric/threads.hpp>
#include <plait/target/host/gemm.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

namespace pl = plait;
namespace host = plait::host;
using bench::contestant;

struct shape {
    std::size_t m, n, k;
};

float element(std::size_t i, std::size_t step)
{
    return 0.01F * static_cast<float>(static_cast<int>(i * step % 201) - 100);
}

/// c = a * b by OpenBLAS itself, of row-major matrices.
template <class T>
void direct([[maybe_unused]] const shape& s, [[maybe_unused]] const T* a, [[maybe_unused]] const T* b,
            [[maybe_unused]] T* c)
{
#if PLAIT_HAS_OPENBLAS
    host::detail::blas_on_one_thread();
    const auto m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(s.k);
    if constexpr (std::is_same_v<T, float>) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
    } else if constexpr (std::is_same_v<T, double>) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
    }
#endif
}

/// Refuses to time what gives another result.
template <class T>
void must_agree(const std::string& what, const std::vector<T>& a, const std::vector<T>& b)
{
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto x = static_cast<float>(a[i]), y = static_cast<float>(b[i]);
        if (!(std::fabs(x - y) <= 1e-3F)) {
            throw std::runtime_error(what + " gives another product, element " + std::to_string(i));
        }
    }
}

/// All contestants on the same matrices.
template <class T>
void products(const bench::options& o, const shape& s, int rounds)
{
    const auto n = static_cast<std::ptrdiff_t>(s.n), k = static_cast<std::ptrdiff_t>(s.k);
    std::vector<T> a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
    for (std::size_t i = 0; i < a.size(); ++i) { a[i] = static_cast<T>(element(i, 7919)); }
    for (std::size_t i = 0; i < b.size(); ++i) { b[i] = static_cast<T>(element(i, 6007)); }
    const host::matrix_view<const T> of_a{a.data(), k, 1}, of_b{b.data(), n, 1};
    const host::matrix_view<T> of_c{c.data(), n, 1};
    host::gemm_scratch scratch;
    std::vector<contestant> all{
        {"own", [&] { host::own::gemm(s.m, s.n, s.k, of_a, of_b, of_c, scratch); }},
    };
    if constexpr (host::gemm_by_blas<T>) {
        all.push_back({"host::gemm", [&] { host::gemm(s.m, s.n, s.k, of_a, of_b, of_c, scratch); }});
        all.push_back({"OpenBLAS", [&] { direct(s, a.data(), b.data(), c.data()); }});
    }
    std::vector<T> expected;
    for (const contestant& one : all) {
        std::fill(c.begin(), c.end(), T(-1.0F));
        one.call();
        if (expected.empty()) { expected = c; }
        must_agree(one.name, c, expected);
    }
    std::vector<bench::timing> times;
    pl::threads::run(1, [&](pl::thread_communicator& comm) { times = bench::race(comm, all, rounds, 5e-3); });

    const double operations = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    const std::string name = std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
    const std::string type{pl::name_of(pl::dtype_of<T>)};
    std::printf("%-14s %-5s", name.c_str(), type.c_str());
    for (const bench::timing& t : times) { std::printf(" %11.1f", operations / t.seconds * 1e-9); }
    const bool against = times.size() == 3;
    if (against) {
        const double base = times[2].seconds;
        std::printf(" %9.2f %9.2f", base / times[0].seconds, base / times[1].seconds);
    }
    std::printf("%*s%5.0f%%\n", against ? 2 : 46, "", 100 * times[0].spread);
    std::fflush(stdout);
    for (std::size_t i = 0; i < times.size(); ++i) {
        bench::write(o,
                     {.workload = "gemm " + name,
                      .schedule = all[i].name,
                      .fabric = "none",
                      .dtype = type,
                      .n = static_cast<std::int64_t>(s.m * s.n * s.k),
                      .ranks = 1,
                      .seconds = times[i].seconds,
                      .ratio_to_baseline = against ? std::optional(times[2].seconds / times[i].seconds) : std::nullopt,
                      .spread = times[i].spread});
    }
}

void run(const bench::options& o)
{
    const int rounds = o.quick ? 9 : 25;
    const char* kinds[] = {"portable", "AVX2", "AVX-512"};
    std::printf(
        "Matrix products m x n x k on one thread, row-major; GFLOP/s, medians of %d; own by %s instructions; OpenBLAS "
        "%s.\nRatios above 1: faster than OpenBLAS called directly.\n\n%-14s %-5s %11s %11s %11s %9s %9s %7s\n",
        rounds, kinds[static_cast<int>(host::own::best())], PLAIT_HAS_OPENBLAS ? "on" : "off", "m x n x k", "", "own",
        "host::gemm", "OpenBLAS", "own/", "gemm/", "spread");
    const std::vector<shape> shapes{{512, 768, 768},  {512, 1024, 1024}, {512, 3072, 768},
                                    {512, 768, 3072}, {64, 64, 64},      {1, 768, 768}};
    for (const shape& s : shapes) {
        if (o.quick && s.m * s.n * s.k > std::size_t{600} << 20U) { continue; }
        products<float>(o, s, rounds);
        products<double>(o, s, rounds);
        products<pl::f16>(o, s, rounds);
        products<pl::bf16>(o, s, rounds);
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("gemm", argc, argv, run); }
