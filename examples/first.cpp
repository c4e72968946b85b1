// The first program: data-parallel Adam, written once, scheduled twice, run by four ranks.
// [first-program]
#include <plait/plait.hpp>

// [/first-program]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

// [first-program]
namespace pl = plait;
using namespace pl::literals;  // 1_c is the number 1 as a type

constexpr auto N = pl::dim<"N">;                                // an extent known at run time
constexpr auto g = pl::tensor<"g", float>(pl::local, N);        // every rank's own gradient
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);   // the same on every rank
constexpr auto m = pl::tensor<"m", float>(pl::replicated, N);
constexpr auto v = pl::tensor<"v", float>(pl::replicated, N);
constexpr auto lr = pl::scalar<"lr">;
constexpr auto c1 = pl::scalar<"c1">;  // 1 - 0.9^t
constexpr auto c2 = pl::scalar<"c2">;  // 1 - 0.999^t

constexpr auto avg = pl::label<"avg">(pl::all_reduce(pl::sum, g) / pl::world_size);
constexpr auto m1 = pl::update(m, 0.9_c * m + 0.1_c * avg);
constexpr auto v1 = pl::update(v, 0.999_c * v + 0.001_c * avg * avg);
constexpr auto p1 = pl::update(p, p - lr * (m1 / c1) / (pl::sqrt(v1 / c2) + 1e-8_c));
constexpr auto adam = pl::program<"adam">(p1, m1, v1);
// [/first-program]

// [first-schedule]
// reduce-scatter, the update on slices, all-gather: one kernel. Each rank stores only its slice of m and v.
constexpr auto fused = adam | pl::split<"avg"> | pl::reorder<"avg"> | pl::as_slice<"m", "v"> | pl::fuse;
// [/first-schedule]

namespace {

constexpr int ranks = 4;
constexpr std::int64_t n = 100'003;  // any number: it need not divide
constexpr int steps = 3;

float gradient(std::int64_t i, int rank) { return std::sin(0.01F * static_cast<float>(i) + static_cast<float>(rank)); }

/// What all ranks hold after the steps, with m and v stored whole or in slices.
template <class Program>
std::vector<float> train(Program program, bool sliced)
{
    std::vector<float> result;
    // [first-run]
    pl::threads::run(ranks, [&](pl::thread_communicator& comm) {  // four ranks, each a thread
        const std::int64_t part = pl::slice_of(n, comm.rank(), comm.size()).count;
        std::vector<float> grad(n), param(n, 1.0F), mean(sliced ? part : n), square(sliced ? part : n);

        pl::executable run{program, comm};
        for (int t = 1; t <= steps; ++t) {
            for (std::int64_t i = 0; i < n; ++i) { grad[i] = gradient(i, comm.rank()); }
            run(g = grad, p = param, m = mean, v = square, lr = 1e-3F,
                c1 = pl::optim::bias_correction(0.9F, t), c2 = pl::optim::bias_correction(0.999F, t));
        }
        if (comm.rank() == 0) { result = param; }
    });
    // [/first-run]
    return result;
}

/// The same in float64, by hand.
double largest_difference(const std::vector<float>& param)
{
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        double mean = 0;
        double square = 0;
        double x = 1;
        for (int t = 1; t <= steps; ++t) {
            double sum = 0;
            for (int r = 0; r < ranks; ++r) { sum += gradient(i, r); }
            mean = 0.9 * mean + 0.1 * sum / ranks;
            square = 0.999 * square + 0.001 * (sum / ranks) * (sum / ranks);
            x -= 1e-3 * mean / (1 - std::pow(0.9, t)) / (std::sqrt(square / (1 - std::pow(0.999, t))) + 1e-8);
        }
        largest = std::fmax(largest, std::fabs(x - static_cast<double>(param[static_cast<std::size_t>(i)])));
    }
    return largest;
}

}  // namespace

int main()
{
    std::printf("%s\n%s\n", pl::print(adam).c_str(), pl::print(fused).c_str());
    const std::vector<float> unscheduled = train(adam, false);
    const std::vector<float> scheduled = train(fused, true);
    const double difference = largest_difference(scheduled);
    std::printf("the schedules agree to the last bit: %s; largest difference from float64: %.1e\n",
                unscheduled == scheduled ? "yes" : "no", difference);
    return unscheduled == scheduled && difference < 1e-5 ? 0 : 1;
}
