// Memory of an executable on a device: tables that the host writes, and scratch memory of kernels.
#pragma once

#include <plait/target/cuda/check.cuh>

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace plait::cuda {

/// Where device memory comes from, and goes back to. Freeing memory waits for the whole device, and kernels there may wait for
/// other ranks: so what is given back is kept until no rank can be waiting for this one.
class memory_source {
  public:
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void deallocate(void* p, std::size_t bytes) noexcept = 0;

  protected:
    ~memory_source() = default;
};

/// A block of device memory, given back at the end.
class device_block {
  public:
    explicit device_block(memory_source& source) : source_(source) {}
    device_block(const device_block&) = delete;
    device_block& operator=(const device_block&) = delete;
    ~device_block() { give_back(); }

    /// Grows to `bytes` and loses what was there. Returns whether it moved.
    bool reserve(std::size_t bytes)
    {
        if (bytes <= size_) { return false; }
        give_back();
        data_ = static_cast<std::byte*>(source_.allocate(bytes));
        size_ = bytes;
        return true;
    }
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    void give_back() noexcept
    {
        if (data_ != nullptr) { source_.deallocate(std::exchange(data_, nullptr), std::exchange(size_, 0)); }
    }
    memory_source& source_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Memory that the launches of an executable ask for while they are built. They are built twice: to find out how much it
/// is, and where it is.
class launch_memory {
  public:
    explicit launch_memory(memory_source& source) : table_block_(source), scratch_block_(source), value_block_(source) {}
    void restart()
    {
        tables_.clear();
        scratch_ = 0;
        workspace_ = no_workspace;
        values_ = 0;
    }
    /// Where a copy of `values` lies on the device.
    template <class T>
    const T* table(const std::vector<T>& values)
    {
        const std::size_t at = (tables_.size() + 15) / 16 * 16;
        const std::size_t bytes = values.size() * sizeof(T);
        tables_.resize(at + bytes);
        std::memcpy(tables_.data() + at, values.data(), bytes);
        return reinterpret_cast<const T*>(table_block_.data() + at);
    }
    /// `count` values that are zeros before the first run after the launches were built.
    template <class T>
    T* scratch(std::size_t count)
    {
        const std::size_t at = (scratch_ + 15) / 16 * 16;
        scratch_ = at + count * sizeof(T);
        return reinterpret_cast<T*>(scratch_block_.data() + at);
    }
    /// Memory that launches on the main stream use one after the other; all ask for the same number of bytes.
    std::byte* workspace(std::size_t bytes)
    {
        if (workspace_ == no_workspace) {
            workspace_ = (scratch_ + 255) / 256 * 256;
            scratch_ = workspace_ + bytes;
        }
        return scratch_block_.data() + workspace_;
    }
    /// Memory for a value of the program, whatever is in it.
    std::byte* value(std::size_t bytes)
    {
        const std::size_t at = values_;
        values_ = (at + bytes + 255) / 256 * 256;
        return value_block_.data() + at;
    }
    /// How much of that is held, whether or not it is used now.
    [[nodiscard]] std::size_t value_bytes() const { return value_block_.size(); }
    /// Makes room for all that was asked for. Returns whether addresses have changed.
    bool make_room()
    {
        const bool tables = table_block_.reserve(tables_.size());
        const bool scratch = scratch_block_.reserve(scratch_);
        const bool values = value_block_.reserve(values_);
        return tables || scratch || values;
    }
    /// Puts the tables in place and clears the scratch memory, whose parts have moved.
    void prepare(cudaStream_t stream) const
    {
        if (scratch_ > 0) { check(cudaMemsetAsync(scratch_block_.data(), 0, scratch_, stream), "CUDA: clearing memory"); }
        if (tables_.empty()) { return; }
        check(cudaMemcpyAsync(table_block_.data(), tables_.data(), tables_.size(), cudaMemcpyHostToDevice, stream),
              "CUDA: copying tables");
    }

  private:
    device_block table_block_;
    device_block scratch_block_;
    device_block value_block_;
    std::vector<std::byte> tables_;
    std::size_t scratch_ = 0;
    static constexpr std::size_t no_workspace = ~std::size_t{0};
    std::size_t workspace_ = no_workspace;
    std::size_t values_ = 0;
};

}  // namespace plait::cuda
