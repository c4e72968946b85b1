// Running passes on ranks that share no memory: what a pass reads from them arrives before it, what it writes goes out.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/fabric/remote.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/plan.hpp>
#include <plait/run/chunks.hpp>
#include <plait/run/transfers.hpp>
#include <plait/target/host/space.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace plait::detail {

/// This rank's messages. For every rank that shares no memory with this one it keeps a mirror of the buffers that passes
/// touch: kernels read and write mirrors as they would the buffers. Only what they touch ever becomes memory.
template <class Communicator>
class messages {
  public:
    messages(Communicator& comm, arguments& args)
        : comm_(comm),
          args_(args),
          by_pass_(args.image().plan.passes.size()),
          mirrors_(static_cast<std::size_t>(args.image().n_slots() * args.ranks()))
    {
        for (int r = 0; r < comm.size(); ++r) { any_ = any_ || !comm.shares(r); }
    }

    /// Whether some rank shares no memory with this one.
    [[nodiscard]] bool any() const { return any_; }

    /// Puts mirrors in the place of buffers that this rank cannot reach; and again when extents have changed. The
    /// first time a meeting.
    void place_mirrors(const char* where)
    {
        if (!any_) { return; }
        find_hosts(where);
        const program_image& image = args_.image();
        for (int s = 0; s < image.n_slots(); ++s) {
            if (!image.slot_of(s).peers_touch) { continue; }
            const auto bytes =
                static_cast<std::size_t>(args_.elements_of(image.slot_node(s))) * size_of(image.slot_node(s).type);
            for (int r = 0; r < args_.ranks(); ++r) {
                if (comm_.shares(args_.holder_of(s, r))) { continue; }
                mirror& m = mirrors_[static_cast<std::size_t>(s * args_.ranks() + r)];
                if (m.size < bytes || m.data == nullptr) {
                    m.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
                    m.size = bytes;
                }
                args_.buffer(s, r) = {m.data.get(), {}};
            }
        }
    }

    /// Runs pass p as a whole: messages in, work(), messages out.
    template <class Work>
    void run_whole(std::size_t p, const char* where, Work&& work)
    {
        chunking whole;
        whole.extent = -1;
        begin(p, p + 1, whole);
        send_operands(p, whole, 0);
        comm_.wait([&] { return arrived(p, 0, false); }, where);
        work();
        send_results(p, whole, 0);
        end(p, p + 1, where);
    }

    /// Before passes [first, end) run in chunks: gets ready for all that will arrive.
    void begin(std::size_t first, std::size_t end, const chunking& c)
    {
        if (!any_) { return; }
        for (std::size_t p = first; p < end; ++p) {
            by_pass_[p].assign(static_cast<std::size_t>(c.count), {});
            for_each_transfer(args_, p, [&](const transfer& t) {
                if (t.receiver() != args_.world_rank() || comm_.shares(t.sender()) || !is_sent(t, c)) { return; }
                for (int k = 0; k < c.count; ++k) { receive(p, t, c, k); }
            });
        }
    }
    /// Sends what other ranks' part of chunk k of pass p reads from this one.
    void send_operands(std::size_t p, const chunking& c, int k) { send(p, c, k, false); }
    /// Sends what this rank's part of chunk k of pass p has written for others.
    void send_results(std::size_t p, const chunking& c, int k) { send(p, c, k, true); }

    /// Whether what chunk k of pass p reads (is_result false), or what others write there, has arrived; it then lies in
    /// its place.
    bool arrived(std::size_t p, int k, bool is_result)
    {
        if (!any_) { return true; }
        bool all = true;
        for (parcel& m : by_pass_[p][static_cast<std::size_t>(k)]) {
            if (m.is_result != is_result || m.unpacked) { continue; }
            if (!comm_.done(m.ticket)) {
                all = false;
            } else {
                unpack(m);
            }
        }
        return all;
    }
    /// Waits for all that passes [first, end) send and receive.
    void end(std::size_t first, std::size_t end, const char* where)
    {
        if (!any_) { return; }
        comm_.finish(where);
        for (std::size_t p = first; p < end; ++p) {
            for (auto& chunk : by_pass_[p]) {
                for (parcel& m : chunk) {
                    if (!m.unpacked) { unpack(m); }
                }
            }
            by_pass_[p].clear();
        }
        outgoing_.clear();
    }

  private:
    struct mirror {
        std::unique_ptr<std::byte[]> data;
        std::size_t size = 0;
    };
    /// A message that comes in. Of several runs it is put into its place when it is there.
    struct parcel {
        int ticket = 0;
        bool is_result = false;
        bool unpacked = false;
        bool for_all = false;  // ranks of this host
        int slot = -1;
        std::byte* to = nullptr;
        std::vector<byte_run> runs;
        std::vector<std::byte> packed;
    };

    /// What goes to all ranks goes to one of each other host, which hands it on; in a pipeline to each of them, as there
    /// its arrival is the signal. Different senders choose different ranks.
    [[nodiscard]] bool is_sent(const transfer& t, const chunking& c) const
    {
        return !t.to_all || c.extent >= 0 || t.holder == host_receiver(t);
    }
    [[nodiscard]] int host_receiver(const transfer& t) const
    {
        const int first = t.holder / args_.ranks() * args_.ranks();  // of the group
        int count = 0;
        for (int r = first; r < first + args_.ranks(); ++r) { count += on_host_of(r, t.holder) ? 1 : 0; }
        int left = t.actor % count;
        int r = first;
        for (;; ++r) {
            if (on_host_of(r, t.holder) && left-- == 0) { return r; }
        }
    }
    [[nodiscard]] bool on_host_of(int a, int b) const
    {
        return host_[static_cast<std::size_t>(a)] == host_[static_cast<std::size_t>(b)];
    }
    /// Hands on what came for all ranks of this host.
    void hand_on(const parcel& m) const
    {
        for (int r = 0; r < args_.ranks(); ++r) {
            const int holder = args_.holder_of(m.slot, r);
            if (holder == args_.world_rank() || !comm_.shares(holder)) { continue; }
            for (const byte_run& run : m.runs) {
                std::memcpy(args_.buffer(m.slot, r).data + run.offset, m.to + run.offset,
                            static_cast<std::size_t>(run.count));
            }
        }
    }

    [[nodiscard]] std::byte* memory_of(const transfer& t) const
    {
        return args_.buffer(t.slot, t.holder % args_.ranks()).data;
    }

    /// Learns which ranks share a host. A meeting; once.
    void find_hosts(const char* where)
    {
        if (!host_.empty()) { return; }
        int first = 0;
        while (!comm_.shares(first)) { ++first; }
        for (const void* theirs : comm_.exchange(&first, sizeof first, where)) {
            host_.push_back(*static_cast<const int*>(theirs));
        }
    }

    /// All runs of a chunk of a pass, in the memory of the holder.
    void collect_runs(std::size_t p, const transfer& t, const chunking& c, int k, std::vector<byte_run>& all)
    {
        const pass_view& pass = args_.image().plan.passes[p];
        all.clear();
        const auto add = [&](const host::chunk& within) {
            runs_of(args_, pass, t, within, runs_);
            all.insert(all.end(), runs_.begin(), runs_.end());
        };
        if (c.extent < 0) { return add({}); }
        for_each_range(args_, pass, c, k, t.actor % args_.ranks(), add);
    }
    static std::size_t total(const std::vector<byte_run>& runs)
    {
        std::int64_t bytes = 0;
        for (const byte_run& r : runs) { bytes += r.count; }
        return static_cast<std::size_t>(bytes);
    }

    void receive(std::size_t p, const transfer& t, const chunking& c, int k)
    {
        const int from = t.sender();
        parcel m;
        collect_runs(p, t, c, k, m.runs);
        const std::size_t bytes = total(m.runs);
        if (bytes == 0) { return; }
        m.is_result = t.is_result;
        m.slot = t.slot;
        m.for_all = t.to_all && c.extent < 0;
        m.to = memory_of(t);
        if (m.runs.size() == 1) {
            m.ticket = comm_.start_receive(m.to + m.runs[0].offset, bytes, from, t.tag);
        } else {
            m.packed.resize(bytes);
            m.ticket = comm_.start_receive(m.packed.data(), bytes, from, t.tag);
        }
        by_pass_[p][static_cast<std::size_t>(k)].push_back(std::move(m));
    }
    void unpack(parcel& m) const
    {
        const std::byte* from = m.packed.data();
        for (const byte_run& r : m.runs) {
            if (m.runs.size() == 1) { break; }  // came into its place
            std::memcpy(m.to + r.offset, from, static_cast<std::size_t>(r.count));
            from += r.count;
        }
        m.unpacked = true;
        if (m.for_all) { hand_on(m); }
    }

    void send(std::size_t p, const chunking& c, int k, bool results)
    {
        if (!any_) { return; }
        for_each_transfer(args_, p, [&](const transfer& t) {
            const int to = t.receiver();
            if (t.is_result != results || t.sender() != args_.world_rank() || comm_.shares(to) || !is_sent(t, c)) { return; }
            collect_runs(p, t, c, k, sent_runs_);
            const std::size_t bytes = total(sent_runs_);
            if (bytes == 0) { return; }
            const std::byte* memory = memory_of(t);
            if (sent_runs_.size() == 1) {
                comm_.start_send(memory + sent_runs_[0].offset, bytes, to, t.tag);
                return;
            }
            std::vector<std::byte>& packed = outgoing_.emplace_back(bytes);
            std::byte* at = packed.data();
            for (const byte_run& r : sent_runs_) {
                std::memcpy(at, memory + r.offset, static_cast<std::size_t>(r.count));
                at += r.count;
            }
            comm_.start_send(packed.data(), bytes, to, t.tag);
        });
    }

    Communicator& comm_;
    arguments& args_;
    bool any_ = false;
    std::vector<int> host_;  // by rank of the world: the first rank of its host
    std::vector<std::vector<std::vector<parcel>>> by_pass_;  // by pass and chunk
    std::vector<mirror> mirrors_;                            // by slot and rank of its group
    std::vector<std::vector<std::byte>> outgoing_;
    std::vector<byte_run> runs_;
    std::vector<byte_run> sent_runs_;
};

/// The same where all ranks share memory: there are none.
template <class Communicator>
    requires(!remote_communicator<Communicator>)
class messages<Communicator> {
  public:
    messages(Communicator&, arguments&) {}
    [[nodiscard]] static constexpr bool any() { return false; }
    static void place_mirrors(const char*) {}
    template <class Work>
    static void run_whole(std::size_t, const char*, Work&&)
    {
    }
    static void begin(std::size_t, std::size_t, const chunking&) {}
    static void send_operands(std::size_t, const chunking&, int) {}
    static void send_results(std::size_t, const chunking&, int) {}
    static bool arrived(std::size_t, int, bool) { return true; }
    static void end(std::size_t, std::size_t, const char*) {}
};

}  // namespace plait::detail
