// Memory of an executable on a device: tables that the host writes, and scratch memory of kernels.
#pragma once

#include <plait/target/cuda/check.cuh>

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace plait::cuda {

/// A block of device memory, freed at the end.
class device_block {
  public:
    device_block() = default;
    device_block(const device_block&) = delete;
    device_block& operator=(const device_block&) = delete;
    ~device_block() { static_cast<void>(cudaFree(data_)); }

    /// Grows to `bytes`, zeroed, and loses what was there. Returns whether it moved.
    bool reserve(std::size_t bytes, cudaStream_t stream)
    {
        if (bytes <= size_) { return false; }
        check(cudaStreamSynchronize(stream), "CUDA: waiting for the stream");
        check(cudaFree(std::exchange(data_, nullptr)), "CUDA: freeing memory");
        size_ = 0;
        void* p = nullptr;
        check(cudaMalloc(&p, bytes), joined({"CUDA: ", bytes, " bytes of device memory"}));
        data_ = static_cast<std::byte*>(p);
        size_ = bytes;
        check(cudaMemsetAsync(data_, 0, bytes, stream), "CUDA: clearing memory");
        return true;
    }
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Memory that the launches of an executable ask for while they are built. They are built twice: to find out how much it
/// is, and where it is.
class launch_memory {
  public:
    void restart()
    {
        tables_.clear();
        scratch_ = 0;
    }
    /// Where a copy of `values` lies on the device.
    template <class T>
    const T* table(std::span<const T> values)
    {
        const std::size_t at = (tables_.size() + 15) / 16 * 16;
        tables_.resize(at + values.size_bytes());
        std::memcpy(tables_.data() + at, values.data(), values.size_bytes());
        return reinterpret_cast<const T*>(table_block_.data() + at);
    }
    /// `count` values that are zeros before the first run.
    template <class T>
    T* scratch(std::size_t count)
    {
        const std::size_t at = (scratch_ + 15) / 16 * 16;
        scratch_ = at + count * sizeof(T);
        return reinterpret_cast<T*>(scratch_block_.data() + at);
    }
    /// Makes room for all that was asked for. Returns whether addresses have changed.
    bool make_room(cudaStream_t stream)
    {
        const bool tables = table_block_.reserve(tables_.size(), stream);
        const bool scratch = scratch_block_.reserve(scratch_, stream);
        return tables || scratch;
    }
    void upload(cudaStream_t stream) const
    {
        if (tables_.empty()) { return; }
        check(cudaMemcpyAsync(table_block_.data(), tables_.data(), tables_.size(), cudaMemcpyHostToDevice, stream),
              "CUDA: copying tables");
    }
    [[nodiscard]] std::size_t bytes() const { return table_block_.size() + scratch_block_.size(); }

  private:
    device_block table_block_;
    device_block scratch_block_;
    std::vector<std::byte> tables_;
    std::size_t scratch_ = 0;
};

}  // namespace plait::cuda
