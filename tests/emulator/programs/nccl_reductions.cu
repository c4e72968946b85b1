// Reductions of all kinds and types, of odd sizes, in place and not, against what the host computes; and calls in
// groups.
#include "programs/nccl_values.hpp"

template <class T>
void test_reductions(const ranks& all, std::size_t count)
{
    const int n = all.size();
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
        if (op == ncclAvg && n == 3 && !std::is_integral_v<T>) { continue; }  // a third is not exact
        buffers in(all, count * n * sizeof(T)), out(all, count * sizeof(T));
        for (int r = 0; r < n; ++r) { in.set(r, values<T>(r, count * n)); }
        const auto wanted = [](std::size_t i, int op, int n) { return expected(static_cast<ncclRedOp_t>(op), n, i); };
        CHECK(all.group([&](int r) {
            ncclAllReduce(in.at(r), out.at(r), count, type_of<T>::value, op, all.comm(r), all.stream(r));
        }) == ncclSuccess);
        CHECK(all.synchronize());
        for (int r = 0; r < n; ++r) { expect(out.get<T>(r), 0, count, wanted, op, n); }
        CHECK(all.group([&](int r) {
            ncclReduceScatter(in.at(r), out.at(r), count, type_of<T>::value, op, all.comm(r), all.stream(r));
        }) == ncclSuccess);
        CHECK(all.synchronize());
        for (int r = 0; r < n; ++r) {
            const auto got = out.get<T>(r);
            bool right = true;
            for (std::size_t i = 0; i < count; ++i) {
                double w = expected(op, n, r * count + i);
                if (std::is_integral_v<T>) { w = static_cast<double>(static_cast<long long>(w)); }
                right &= static_cast<float>(got[i]) == static_cast<float>(T(static_cast<float>(w)));
            }
            CHECK(right);
        }
        const int root = n - 1;
        CHECK(all.group([&](int r) {
            ncclReduce(in.at(r), r == root ? in.at(r) : nullptr, count, type_of<T>::value, op, root, all.comm(r),
                       all.stream(r));
        }) == ncclSuccess);
        CHECK(all.synchronize());
        expect(in.get<T>(root), 0, count, wanted, op, n);
        // In place.
        for (int r = 0; r < n; ++r) { in.set(r, values<T>(r, count * n)); }
        CHECK(all.group([&](int r) {
            ncclAllReduce(in.at(r), in.at(r), count, type_of<T>::value, op, all.comm(r), all.stream(r));
        }) == ncclSuccess);
        CHECK(all.synchronize());
        for (int r = 0; r < n; ++r) { expect(in.get<T>(r), 0, count, wanted, op, n); }
    }
}

// Rounded sums: each step is rounded to the type, and all ranks get the same bits.
void test_rounding(const ranks& all)
{
    const std::size_t count = 1000;
    buffers in(all, count * 2), out(all, count * 2);
    std::vector<double> sums(count);
    for (int r = 0; r < all.size(); ++r) {
        std::vector<__nv_bfloat16> v;
        for (std::size_t i = 0; i < count; ++i) {
            v.push_back(__nv_bfloat16(static_cast<float>(i * 37 % 101 + 1) / static_cast<float>(r + 3)));
            sums[i] += static_cast<float>(v.back());
        }
        in.set(r, v);
    }
    all.group(
        [&](int r) { ncclAllReduce(in.at(r), out.at(r), count, ncclBfloat16, ncclSum, all.comm(r), all.stream(r)); });
    CHECK(all.synchronize());
    for (int r = 0; r < all.size(); ++r) {
        CHECK(out.get<std::uint16_t>(r) == out.get<std::uint16_t>(0));
        const auto got = out.get<__nv_bfloat16>(r);
        bool near = true;
        for (std::size_t i = 0; i < count; ++i) {
            near &= std::fabs(static_cast<float>(got[i]) - sums[i]) <= sums[i] / 128 * all.size();
        }
        CHECK(near);
    }
}

void test_premultiplied(const ranks& all)
{
    const std::size_t count = 33;
    buffers in(all, count * 4), out(all, count * 4), factors(all, 4);
    std::vector<ncclRedOp_t> ops(all.size());
    for (int r = 0; r < all.size(); ++r) {
        in.set(r, std::vector<float>(count, static_cast<float>(r + 1)));
        float factor = static_cast<float>(2 << r);
        factors.set(r, std::vector<float>{factor});
        const bool on_device = r % 2 == 1;
        CHECK(ncclRedOpCreatePreMulSum(&ops[r], on_device ? factors.at(r) : &factor, ncclFloat32,
                                       on_device ? ncclScalarDevice : ncclScalarHostImmediate,
                                       all.comm(r)) == ncclSuccess);
    }
    all.group(
        [&](int r) { ncclAllReduce(in.at(r), out.at(r), count, ncclFloat32, ops[r], all.comm(r), all.stream(r)); });
    CHECK(all.synchronize());
    float wanted = 0;
    for (int r = 0; r < all.size(); ++r) { wanted += static_cast<float>((r + 1) * (2 << r)); }
    for (int r = 0; r < all.size(); ++r) {
        CHECK(out.get<float>(r) == std::vector<float>(count, wanted));
        CHECK(ncclRedOpDestroy(ops[r], all.comm(r)) == ncclSuccess);
    }
}

// Several calls of a group, on several streams of a rank: all streams wait for all of them.
void test_groups(const ranks& all)
{
    const std::size_t count = 100;
    buffers a(all, count * 4), b(all, count * 4), c(all, count * 4 * all.size());
    std::vector<cudaStream_t> second;
    for (int r = 0; r < all.size(); ++r) {
        a.set(r, std::vector<int>(count, r + 1));
        b.set(r, std::vector<int>(count, 10));
        all.set_device(r);
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        second.push_back(s);
    }
    all.group([&](int r) {
        ncclAllReduce(a.at(r), a.at(r), count, ncclInt32, ncclSum, all.comm(r), all.stream(r));
        ncclAllGather(b.at(r), c.at(r), count, ncclInt32, all.comm(r), second[r]);
    });
    for (int r = 0; r < all.size(); ++r) {
        all.set_device(r);
        cudaMemcpyAsync(b.at(r), a.at(r), count * 4, cudaMemcpyDeviceToDevice, second[r]);
        CHECK(cudaStreamSynchronize(second[r]) == cudaSuccess);
        CHECK(b.get<int>(r) == std::vector<int>(count, all.size() * (all.size() + 1) / 2));
        CHECK(c.get<int>(r) == std::vector<int>(count * all.size(), 10));
        cudaStreamDestroy(second[r]);
    }
}

int main()
{
    int version = 0;
    CHECK(ncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE);
    for (int n = 1; n <= 4; ++n) {
        for (const bool one_device : {false, true}) {
            emulator_set_seed(static_cast<unsigned>(2 * n + one_device));
            const ranks all(n, one_device);
            for_all_types(n, [&](auto of_type) {
                for (const std::size_t count : {1u, 7u, 257u}) { test_reductions<decltype(of_type)>(all, count); }
            });
            test_rounding(all);
            test_premultiplied(all);
            test_groups(all);
        }
    }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
