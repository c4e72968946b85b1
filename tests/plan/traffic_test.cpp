// Bytes moved per element, against formulas derived by hand from what each stage reads and writes.
#include <plait/blocks/pipeline.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>
#include <plait/plan/traffic.hpp>

#include <doctest/doctest.h>

namespace {

namespace pl = plait;

TEST_CASE("Adam in f32: all_reduce 8, update 28; slices; fused")
{
    using adam = pl::optim::adam<>;
    for (int n : {1, 2, 3, 8, 64}) {
        CAPTURE(n);
        // all_reduce: a slice of every rank read (4), the sum written to every rank (4). Update: g p m v read, p m v written.
        CHECK(pl::traffic_of(adam::unscheduled, n).total() == doctest::Approx(8 + 28));
        // reduce_scatter 4 + 4/n; update of slices (16 + 12)/n; all_gather 4/n + 4.
        CHECK(pl::traffic_of(adam::sliced, n).total() == doctest::Approx(8 + 36.0 / n));
        // gradients 4; p m v read and m v written in slices; p written everywhere 4.
        CHECK(pl::traffic_of(adam::fused, n).total() == doctest::Approx(8 + 20.0 / n));
        // To and from other ranks: (n - 1)/n of the gradient and of the parameters.
        CHECK(pl::traffic_of(adam::fused, n).remote == doctest::Approx(8.0 * (n - 1) / n));
        CHECK(pl::traffic_of(adam::unscheduled, n).remote == doctest::Approx(8.0 * (n - 1) / n));
    }
}

TEST_CASE("mixed precision: f16 gradients and a bf16 model travel, f32 state stays")
{
    using adam = pl::optim::adam<pl::f16, pl::bf16>;
    // g 2; p m v read and written in slices (24/n); model written everywhere (2).
    CHECK(pl::traffic_of(adam::fused, 4).total() == doctest::Approx(4 + 24.0 / 4));
    CHECK(pl::traffic_of(adam::fused, 4).remote == doctest::Approx(4 * 3.0 / 4));
    // all_reduce 2 + 2; update: g 2, p m v 12 read, p m v 12 and model 2 written.
    CHECK(pl::traffic_of(adam::unscheduled, 4).total() == doctest::Approx(4 + 28));
}

TEST_CASE("LAMB reads its slices twice: the norms come first")
{
    using lamb = pl::optim::lamb<>;
    // First kernel: g 4, m v p read 12/n, m v written 8/n. Second: m v p read 12/n, p written everywhere 4.
    CHECK(pl::traffic_of(lamb::fused, 2).total() == doctest::Approx(8 + 32.0 / 2));
}

TEST_CASE("the pipeline block: a send of slices carries 1/n")
{
    using block = pl::blocks::pipeline<>;
    for (int n : {1, 2, 4, 8}) {
        // Per element 4 bytes: reduce_scatter and all_gather (n-1)/n each, and the send.
        const double part = 4.0 * (n - 1) / n;
        CHECK(pl::traffic_of(block::unscheduled, n).remote == doctest::Approx(2 * part + 4.0));
        CHECK(pl::traffic_of(block::sliced, n).remote == doctest::Approx(2 * part + 4.0 / n));
        CHECK(pl::traffic_of(block::fused, n).remote == doctest::Approx(2 * part + 4.0 / n));
        CHECK(pl::traffic_of(block::overlapped, n).remote == doctest::Approx(2 * part + 4.0 / n));
    }
}

TEST_CASE("SGD with momentum")
{
    using sgd = pl::optim::sgd<>;
    CHECK(pl::traffic_of(sgd::fused, 4).total() == doctest::Approx(8 + 12.0 / 4));  // p m read, m written in slices
    CHECK(pl::traffic_of(sgd::unscheduled, 4).total() == doctest::Approx(8 + 20));  // g p m read, p m written
}

}  // namespace
