// What a run puts on a stream, prepared when buffers or extents are new.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/target/cuda/device_memory.cuh>
#include <plait/target/cuda/meeting.cuh>
#include <plait/target/cuda/multicast_memory.cuh>
#include <plait/target/cuda/range.cuh>
#include <plait/target/cuda/walk.cuh>
#include <plait/target/host/space.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace plait::cuda {

/// Something that is put on a stream again and again.
class launch {
  public:
    launch() = default;
    launch(const launch&) = delete;
    launch& operator=(const launch&) = delete;
    virtual ~launch() = default;
    /// Throws plait::error that names the stage.
    virtual void enqueue(cudaStream_t stream) = 0;
};
/// (Launches are owned as such from the beginning: an owner of its own for every type would be much to compile.)
using launch_list = std::vector<std::unique_ptr<launch>>;

struct product_chunks;

/// What launches of one pass are built from.
struct pass_build {
    const arguments& args;
    const pass_view& pass;
    launch_memory& memory;
    launch_list& list;      // where what must come before the kernel goes
    std::string stage;      // its name in errors
    meeting before;         // no signals: ranks do not meet there
    meeting after;
    meeting reports;        // where kernels report failures
    int multiprocessors = 1;
    int ranks_on_a_device = 1;
    host::chunk within{};
    const product_chunks* chunks = nullptr;  // of a product that is launched once for all chunks of a pipeline
    const multicast_memory* multicast = nullptr;  // if kernels may add and store by it

    /// The same for another pass of the same launch.
    [[nodiscard]] pass_build of_pass(const pass_view& other) const
    {
        return {args, other, memory, list, stage, before, after, reports, multiprocessors, ranks_on_a_device, within};
    }
    [[nodiscard]] view<const pass_view> passes_from_here() const
    {
        const auto all = args.image().plan.passes;
        return all.subspan(static_cast<std::size_t>(&pass - all.data()));
    }
    [[nodiscard]] const node& node_at(int i) const { return args.image().node_of(i); }
    [[nodiscard]] const node& slot_node(int s) const { return args.image().slot_node(s); }
    [[nodiscard]] bool meets() const { return before.signals != nullptr || after.signals != nullptr; }

    /// Blocks of a kernel that are on the device at once; of those that meet, beside those of the ranks that share it.
    [[nodiscard]] int resident_blocks(const void* kernel, int threads) const
    {
        int each = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0), joined({stage, ": occupancy"}));
        const int all = each * multiprocessors;
        if (!meets()) { return std::max(1, all); }
        // Beside those that wait there must be room for what they wait for: together they leave multiprocessors almost free.
        const int room = ranks_on_a_device > 1 ? std::min(all, std::max(multiprocessors, ranks_on_a_device)) : all;
        const int mine = room / ranks_on_a_device;
        if (mine < 1) {
            throw error({stage, ": ", ranks_on_a_device, " ranks on one device do not fit beside each other; use fewer"});
        }
        return std::min(mine, max_meeting_blocks);
    }
};

/// As many blocks of a kernel as so many threads want, as far as they are on the device at once.
inline int blocks_for(const pass_build& b, std::int64_t threads, const void* kernel, int of_block = block_threads)
{
    const std::int64_t wanted = (threads + of_block - 1) / of_block;
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, b.resident_blocks(kernel, of_block)));
}

/// Sets memory to zero.
class clearing : public launch {
  public:
    clearing(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
    void enqueue(cudaStream_t stream) override { check(cudaMemsetAsync(data_, 0, bytes_, stream), "CUDA: clearing memory"); }

  private:
    void* data_;
    std::size_t bytes_;
};

/// A kernel whose arguments lie elsewhere.
class launch_of_kernel : public launch {
  public:
    launch_of_kernel(std::string stage, const void* kernel, void* arguments)
        : stage_(std::move(stage)), kernel_(kernel), arguments_(arguments)
    {
        // Loads the kernel now: later that may wait for the device, on which a kernel may wait for this rank.
        cudaFuncAttributes loaded{};
        check(cudaFuncGetAttributes(&loaded, kernel), stage_);
    }
    void enqueue(cudaStream_t stream) override
    {
        const named_range range(stage_.c_str());
        void* all[] = {arguments_};
        check(cudaLaunchKernel(kernel_, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), all, shared_bytes, stream), stage_);
    }
    int blocks = 1;
    int threads = block_threads;
    std::size_t shared_bytes = 0;

  private:
    std::string stage_;
    const void* kernel_;
    void* arguments_;
};

/// A kernel with its arguments.
template <class Arguments>
class kernel_launch : public launch_of_kernel {
  public:
    kernel_launch(std::string stage, const void* kernel) : launch_of_kernel(std::move(stage), kernel, &arguments) {}
    Arguments arguments{};
};

/// One block of a kernel whose threads each take some of `a.ranks` ranks.
template <class Arguments>
std::unique_ptr<launch> make_signal(const std::string& stage, void (*kernel)(Arguments), const Arguments& a)
{
    auto* l = new kernel_launch<Arguments>(stage, reinterpret_cast<const void*>(kernel));
    std::unique_ptr<launch> owned(l);
    l->arguments = a;
    l->threads = std::clamp((a.ranks + warp_size - 1) / warp_size * warp_size, warp_size, 1024);
    return owned;
}
/// A meeting of all ranks and nothing else.
inline std::unique_ptr<launch> make_meeting(const std::string& stage, const meeting& m)
{
    return make_signal(stage, &meet_kernel<>, m.as_argument());
}

}  // namespace plait::cuda
