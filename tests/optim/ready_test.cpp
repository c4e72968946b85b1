// How a ready optimizer is used, as README.md shows it.
#include <plait/plait.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

namespace pl = plait;

TEST_CASE("mixed-precision LAMB over separate tensors")
{
    constexpr int steps = 2;
    const std::vector<std::size_t> sizes{300, 1, 77};
    std::vector<float> all_masters[2];
    pl::threads::run(2, [&](pl::thread_communicator& comm) {
        std::vector<std::vector<pl::f16>> gradients;
        std::vector<std::vector<pl::bf16>> weights;
        std::int64_t n = 0;
        for (std::size_t s : sizes) {
            gradients.emplace_back(s, pl::f16(comm.rank() == 0 ? 0.25F : 0.75F));
            weights.emplace_back(s, pl::bf16(1.0F));
            n += static_cast<std::int64_t>(s);
        }
        // [ready]
        using lamb = pl::optim::lamb<pl::f16, pl::bf16, pl::optim::options{.scale = true, .clip = true}>;

        // Gradients and weights lie in many separate tensors; master weights and state in this rank's slices.
        const pl::scattered grads(gradients), model(weights);
        const auto part = static_cast<std::size_t>(pl::slice_of(n, comm.rank(), comm.size()).count);
        std::vector<float> master(part, 1.0F), m(part), v(part);

        pl::executable run{lamb::fused, comm};
        for (int t = 1; t <= steps; ++t) {
            run(lamb::g = grads, lamb::model = model, lamb::p = master, lamb::m = m, lamb::v = v, lamb::lr = 1e-2F,
                lamb::beta1 = 0.9F, lamb::beta2 = 0.999F, lamb::eps = 1e-6F, lamb::weight_decay = 0.01F,
                lamb::c1 = pl::optim::bias_correction(0.9F, t), lamb::c2 = pl::optim::bias_correction(0.999F, t),
                pl::optim::inv_scale = 1.0F, pl::optim::max_norm = 1.0F);
        }
        // [/ready]
        all_masters[comm.rank()] = master;
        // The gradient is the same everywhere and so is the direction: each tensor shrinks by lr times its norm, twice.
        const double expected = std::pow(1 - 1e-2, steps);
        for (const auto& tensor : weights) {
            for (pl::bf16 w : tensor) { CHECK(std::fabs(static_cast<double>(static_cast<float>(w)) - expected) < 4e-3); }
        }
    });
    for (const auto& master : all_masters) {
        for (float x : master) { CHECK(std::fabs(static_cast<double>(x) - std::pow(1 - 1e-2, steps)) < 1e-4); }
    }
}

}  // namespace
