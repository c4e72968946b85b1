// Ranks of an NCCL communicator in one thread, for tests.
#pragma once

#include "nccl/control.h"
#include "programs/check.hpp"

#include <nccl.h>

/// Each with its own device (of four), or all on device 0, and a stream.
class ranks {
  public:
    ranks(int n, bool one_device)
    {
        setenv("NCCL_MULTI_RANK_GPU_ENABLE", one_device || n > 4 ? "1" : "0", 1);
        std::vector<int> devices;
        for (int r = 0; r < n; ++r) { devices.push_back(one_device ? 0 : r % 4); }
        comms_.resize(n);
        CHECK(ncclCommInitAll(comms_.data(), n, devices.data()) == ncclSuccess);
        for (int d : devices) {
            cudaSetDevice(d);
            cudaStream_t s = nullptr;
            cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
            streams_.push_back(s);
        }
        devices_ = devices;
        cudaSetDevice(0);
    }
    ~ranks()
    {
        for (int r = 0; r < size(); ++r) {
            if (comms_[r] != nullptr) { ncclCommDestroy(comms_[r]); }
            cudaStreamDestroy(streams_[r]);
        }
    }
    ranks(const ranks&) = delete;

    int size() const { return static_cast<int>(comms_.size()); }
    int device(int r) const { return devices_[r]; }
    ncclComm_t comm(int r) const { return comms_[r]; }
    cudaStream_t stream(int r) const { return streams_[r]; }
    void set_device(int r) const { cudaSetDevice(devices_[r]); }
    void abort(int r)
    {
        CHECK(ncclCommAbort(comms_[r]) == ncclSuccess);
        comms_[r] = nullptr;
    }
    bool synchronize() const
    {
        bool fine = true;
        for (int r = 0; r < size(); ++r) {
            set_device(r);
            fine &= cudaStreamSynchronize(streams_[r]) == cudaSuccess;
        }
        return fine;
    }
    /// Calls f(rank) for each, as one group.
    template <class F>
    ncclResult_t group(F&& f) const
    {
        ncclGroupStart();
        for (int r = 0; r < size(); ++r) { f(r); }
        return ncclGroupEnd();
    }

  private:
    std::vector<ncclComm_t> comms_;
    std::vector<cudaStream_t> streams_;
    std::vector<int> devices_;
};

/// Bytes of each rank on its device.
class buffers {
  public:
    buffers(const ranks& all, std::size_t bytes) : bytes_{bytes}
    {
        for (int r = 0; r < all.size(); ++r) {
            all.set_device(r);
            void* p = nullptr;
            CHECK(ncclMemAlloc(&p, bytes) == ncclSuccess);
            data_.push_back(p);
        }
    }
    ~buffers()
    {
        for (void* p : data_) { ncclMemFree(p); }
    }
    buffers(const buffers&) = delete;
    template <class T = void>
    T* at(int r) const
    {
        return static_cast<T*>(data_[r]);
    }
    template <class T>
    void set(int r, const std::vector<T>& from)
    {
        cudaMemcpy(data_[r], from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    }
    template <class T>
    std::vector<T> get(int r) const
    {
        std::vector<T> to(bytes_ / sizeof(T));
        cudaMemcpy(to.data(), data_[r], to.size() * sizeof(T), cudaMemcpyDeviceToHost);
        return to;
    }

  private:
    std::vector<void*> data_;
    std::size_t bytes_;
};
