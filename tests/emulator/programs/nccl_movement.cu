// Collectives that only move data, of all types and odd sizes, in place and not.
#include "programs/nccl_values.hpp"

template <class T>
void test_movement(const ranks& all, std::size_t count)
{
    const int n = all.size();
    buffers one(all, count * sizeof(T)), many(all, count * n * sizeof(T)), back(all, count * n * sizeof(T));
    for (int r = 0; r < n; ++r) {
        one.set(r, values<T>(r, count));
        many.set(r, values<T>(10, count * n));
    }
    const auto of_rank = [](std::size_t i, int rank, int) { return value(rank, i); };
    const auto type = type_of<T>::value;
    CHECK(all.group([&](int r) { ncclAllGather(one.at(r), many.at(r), count, type, all.comm(r), all.stream(r)); }) ==
          ncclSuccess);
    CHECK(all.synchronize());
    for (int r = 0; r < n; ++r) {
        for (int k = 0; k < n; ++k) { expect(many.get<T>(r), k * count, count, of_rank, k, 0); }
    }
    CHECK(all.group([&](int r) { ncclAlltoAll(many.at(r), back.at(r), count, type, all.comm(r), all.stream(r)); }) ==
          ncclSuccess);
    CHECK(all.synchronize());
    for (int r = 0; r < n; ++r) {
        for (int k = 0; k < n; ++k) { expect(back.get<T>(r), k * count, count, of_rank, r, 0); }
    }
    CHECK(all.group([&](int r) {
        ncclScatter(many.at(r), one.at(r), count, type, n - 1, all.comm(r), all.stream(r));
    }) == ncclSuccess);
    CHECK(all.synchronize());
    for (int r = 0; r < n; ++r) { expect(one.get<T>(r), 0, count, of_rank, r, 0); }
    CHECK(all.group([&](int r) { ncclGather(one.at(r), back.at(r), count, type, 0, all.comm(r), all.stream(r)); }) ==
          ncclSuccess);
    CHECK(all.synchronize());
    for (int k = 0; k < n; ++k) { expect(back.get<T>(0), k * count, count, of_rank, k, 0); }
    CHECK(all.group([&](int r) {
        ncclBroadcast(one.at(r), back.at(r), count, type, n / 2, all.comm(r), all.stream(r));
    }) == ncclSuccess);
    CHECK(all.group([&](int r) { ncclBcast(one.at(r), count, type, 0, all.comm(r), all.stream(r)); }) == ncclSuccess);
    CHECK(all.synchronize());
    for (int r = 0; r < n; ++r) {
        expect(back.get<T>(r), 0, count, of_rank, n / 2, 0);
        expect(one.get<T>(r), 0, count, of_rank, 0, 0);
    }
    // In place: each rank's own block is where it belongs.
    for (int r = 0; r < n; ++r) {
        all.set_device(r);
        const auto mine = values<T>(r, count);
        cudaMemcpy(many.at<T>(r) + r * count, mine.data(), count * sizeof(T), cudaMemcpyHostToDevice);
    }
    CHECK(all.group([&](int r) {
        ncclAllGather(many.at<T>(r) + r * count, many.at(r), count, type, all.comm(r), all.stream(r));
    }) == ncclSuccess);
    CHECK(all.synchronize());
    for (int r = 0; r < n; ++r) {
        for (int k = 0; k < n; ++k) { expect(many.get<T>(r), k * count, count, of_rank, k, 0); }
    }
}

int main()
{
    for (int n = 1; n <= 4; ++n) {
        for (const bool one_device : {false, true}) {
            emulator_set_seed(static_cast<unsigned>(2 * n + one_device));
            const ranks all(n, one_device);
            for_all_types(n, [&](auto of_type) {
                for (const std::size_t count : {1u, 7u, 257u}) { test_movement<decltype(of_type)>(all, count); }
            });
        }
    }
    CHECK(emulator_report_count() == 0);
    return check::result();
}
