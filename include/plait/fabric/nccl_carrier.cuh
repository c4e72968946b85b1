// How records of ranks of NCCL get from rank to rank, and what a rank learns of others' failures: what a meeting needs.
#pragma once

#include <plait/fabric/nccl_check.cuh>

#if defined(PLAIT_HAS_NCCL)
#include <plait/core/view.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace plait::detail {

/// Carries one record of each rank at a time. (See nccl_boards and nccl_rounds.)
class nccl_carrier {
  public:
    /// Bytes of the largest record.
    static constexpr std::size_t record_bytes = 4096;

    nccl_carrier() = default;
    nccl_carrier(const nccl_carrier&) = delete;
    nccl_carrier& operator=(const nccl_carrier&) = delete;
    virtual ~nccl_carrier() = default;

    /// Shows this rank's next record, all of whose predecessors have arrived.
    virtual void show(view<const std::byte> record) = 0;
    /// Whether the records of all ranks are there. Called again and again until they are.
    virtual bool has_all() = 0;
    /// The record of a rank, once all are there.
    [[nodiscard]] virtual const std::byte* record_of(int rank) const = 0;
    /// Who has not shown one, for errors: "rank 1, 2".
    [[nodiscard]] virtual std::string missing() const = 0;

    /// The failure of another rank, as far as this one has learned of one: "rank 1 failed: why", or "".
    [[nodiscard]] const std::string& heard() const noexcept { return heard_; }
    /// Looks for one, without waiting for anybody.
    virtual void look() = 0;
    /// Looks for one while this rank waits for something else.
    virtual void listen() = 0;
    /// The same while it waits for its stream, of which something may wait for others.
    virtual void listen_to_stream() = 0;
    /// The stage in which the stream has waited for others for too long; "" if it has not.
    [[nodiscard]] virtual std::string overdue(std::chrono::nanoseconds limit) = 0;

    /// Ends what this rank's stream waits for.
    virtual void abandon() noexcept = 0;
    /// Tells the others why this rank has failed, without waiting for them; its end may, for no longer than `limit`.
    virtual void tell(std::string_view why, std::chrono::nanoseconds limit) = 0;
    /// What NCCL says of communicators that are not the user's.
    [[nodiscard]] virtual ncclResult_t state() = 0;

  protected:
    std::string heard_;
};

}  // namespace plait::detail
#endif
