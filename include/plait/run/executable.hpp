// A program ready to run on a communicator.
#pragma once

#include <plait/fabric/communicator.hpp>
#include <plait/graph/program.hpp>
#include <plait/target/host/all_to_all_pass.hpp>
#include <plait/target/host/map_pass.hpp>
#include <plait/target/host/reduce_pass.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace plait {
namespace detail {

/// The image of a program, or a compile error naming the operation that has no kernel here.
template <auto Graph>
program_image checked_image()
{
    using l = lowered<program_t<Graph>>;
    if constexpr (l::plan.violated != rule::none) {
        constexpr message m = l::plan.why;
        (void)refused<l::plan.violated, cut<m.size() + 1>(m)>{};
        return {};
    } else {
        return image_of<program_t<Graph>>();
    }
}

}  // namespace detail

/// A scheduled program, ready to run on the ranks of a communicator. Every rank builds one and calls it, with its own
/// buffers: `run(g = grad, p = param, lr = 1e-3f)`; each tensor, scalar and dimension of the program by its name.
/// Tensors are bound to contiguous ranges, plain pointers or plait::scattered; a sliced one to this rank's part of it
/// (slice_of). Dimensions are deduced from buffers where that is possible, or bound: `N = 1024`.
///
/// A call is collective. All ranks compare program, extents and arguments before anything is written; if one of them
/// was given bad arguments, every rank throws plait::error. Workspace is allocated by the first call, and again only if
/// it must grow. The communicator must outlive the executable; only its rank's thread uses either.
template <class Communicator>
class executable {
  public:
    /// Of a program or schedule. An operation without a kernel on this target is a compile error.
    template <auto Graph>
    executable(program_t<Graph>, Communicator& comm)
        : comm_(comm),
          image_(detail::checked_image<Graph>()),
          args_(image_, comm.rank(), comm.size()),
          peers_(image_.plan->n_slots, comm.size())
    {
        for (record& r : records_) { r.handles.resize(static_cast<std::size_t>(image_.plan->n_slots)); }
        piece_handles_[0].resize(static_cast<std::size_t>(image_.plan->n_slots));
        piece_handles_[1].resize(static_cast<std::size_t>(image_.plan->n_slots));
        peer_workspace_.resize(static_cast<std::size_t>(comm.size()));
        peer_pieces_.resize(static_cast<std::size_t>(image_.plan->n_slots * comm.size()));
    }
    executable(const executable&) = delete;
    executable& operator=(const executable&) = delete;
    ~executable() { release_workspace(); }

    /// Runs the program once. Bindings are `name = value`.
    /// @throws plait::error on every rank, naming tensor, rule and fix, before anything is written.
    template <std::same_as<binding>... Bindings>
    void operator()(const Bindings&... bindings)
    {
        const std::array<binding, sizeof...(Bindings) + 1> all{bindings..., binding{}};
        run(std::span(all).first(sizeof...(Bindings)));
    }
    void run(std::span<const binding> bindings)
    {
        agree(bindings);
        prepare_workspace();
        for (int p = 0; p < image_.plan->n_passes; ++p) { run_pass(p); }
        if (image_.plan->barrier_after) { comm_.barrier(where("end")); }
    }

    /// Bytes of workspace that this rank holds.
    [[nodiscard]] std::size_t workspace_bytes() const { return workspace_size_; }
    [[nodiscard]] const program_image& image() const { return image_; }

  private:
    /// What ranks tell each other before a run.
    struct header {
        std::uint64_t program = 0;
        std::uint64_t extents = 0;
        std::int64_t numbers[8]{};  // the first extents, for messages
        bool failed = false;
        char why[512]{};
        buffer_handle handles{};
        buffer_handle pieces{};
    };
    struct record {
        header head;
        std::vector<buffer_handle> handles;
    };

    const char* where(const char* stage)
    {
        where_ = std::string{image_.name} + ": " + stage;
        return where_.c_str();
    }

    void agree(std::span<const binding> bindings)
    {
        record& mine = records_[parity_];
        auto& pieces = piece_handles_[parity_];
        parity_ ^= 1;
        mine.head = header{};
        mine.head.program = image_.hash;
        std::string why;
        try {
            args_.bind(bindings);
            describe(mine, pieces);
        } catch (const std::exception& e) {
            why = e.what();
            mine.head.failed = true;
            why.copy(mine.head.why, sizeof mine.head.why - 1);
        }
        const auto all = comm_.exchange(&mine.head, sizeof(header), where("start"));
        for (int r = 0; r < comm_.size(); ++r) {
            const header& theirs = *static_cast<const header*>(all[static_cast<std::size_t>(r)]);
            if (!theirs.failed) { continue; }
            if (mine.head.failed) { throw error(why.substr(why.find(": ") + 2)); }
            const std::string text = theirs.why;
            throw error("rank " + std::to_string(r) + ": " + text.substr(text.find(": ") + 2));
        }
        compare(all);
        connect(all);
    }

    /// Fills in this rank's record: extents and where its buffers are.
    void describe(record& mine, std::vector<std::vector<buffer_handle>>& pieces)
    {
        header& h = mine.head;
        const auto extents = args_.extents();
        for (std::size_t i = 0; i < extents.size(); ++i) {
            h.extents = detail::mix(h.extents, static_cast<std::uint64_t>(extents[i]));
            if (i < std::size(h.numbers)) { h.numbers[i] = extents[i]; }
        }
        for (int s = 0; s < image_.plan->n_slots; ++s) {
            const auto at = static_cast<std::size_t>(s);
            if (!image_.plan->slots[s].peers_touch || !image_.plan->slots[s].is_tensor) { continue; }
            const node& n = image_.node_of(image_.plan->slots[s].node);
            const bound_buffer& b = args_.buffer(s);
            const std::size_t size = size_of(n.type);
            pieces[at].clear();
            for (const piece& p : b.pieces) {
                pieces[at].push_back(comm_.handle_of(p.data, static_cast<std::size_t>(p.count) * size));
                h.extents = detail::mix(h.extents, static_cast<std::uint64_t>(p.count));
            }
            mine.handles[at] = b.pieces.empty()
                                   ? comm_.handle_of(b.data, static_cast<std::size_t>(args_.stored_elements_of(n)) * size)
                                   : comm_.handle_of(pieces[at].data(), pieces[at].size() * sizeof(buffer_handle));
        }
        h.handles = comm_.handle_of(mine.handles.data(), mine.handles.size() * sizeof(buffer_handle));
    }

    /// All ranks run the same program with the same extents, or all throw and name the odd ones.
    void compare(std::span<const void* const> all)
    {
        const auto head = [&](int r) -> const header& { return *static_cast<const header*>(all[static_cast<std::size_t>(r)]); };
        const auto same = [](const header& a, const header& b) { return a.program == b.program && a.extents == b.extents; };
        int usual = 0;
        int best = 0;
        for (int r = 0; r < comm_.size(); ++r) {
            int equal = 0;
            for (int q = 0; q < comm_.size(); ++q) { equal += same(head(r), head(q)) ? 1 : 0; }
            if (equal > best) {
                best = equal;
                usual = r;
            }
        }
        if (best == comm_.size()) { return; }
        std::string what = "program \"" + std::string{image_.name} + "\" differs between ranks:";
        for (int r = 0; r < comm_.size(); ++r) {
            if (same(head(r), head(usual))) { continue; }
            what += " rank " + std::to_string(r) + ": ";
            if (head(r).program != head(usual).program) {
                what += "another program or schedule than rank " + std::to_string(usual) + ";";
                continue;
            }
            std::string odd;
            for (std::size_t i = 0; i < std::min(image_.symbols.size(), std::size(header{}.numbers)); ++i) {
                if (head(r).numbers[i] == head(usual).numbers[i]) { continue; }
                odd += "extent " + std::string{image_.symbols[i].view()} + " = " + std::to_string(head(r).numbers[i]) +
                       ", others " + std::to_string(head(usual).numbers[i]) + ";";
            }
            what += odd.empty() ? "other counts of scattered tensors than rank " + std::to_string(usual) + ";" : odd;
        }
        throw error(what + " give all ranks the same");
    }

    /// Finds the buffers of the others.
    void connect(std::span<const void* const> all)
    {
        for (int r = 0; r < comm_.size(); ++r) {
            if (r == comm_.rank()) { continue; }
            const header& h = *static_cast<const header*>(all[static_cast<std::size_t>(r)]);
            const auto* handles = static_cast<const buffer_handle*>(comm_.resolve(r, h.handles));
            for (int s = 0; s < image_.plan->n_slots; ++s) {
                if (!image_.plan->slots[s].peers_touch || !image_.plan->slots[s].is_tensor) { continue; }
                connect_slot(r, s, handles[s]);
            }
        }
    }
    void connect_slot(int r, int s, buffer_handle h)
    {
        bound_buffer& b = peers_.of(s, r);
        const auto mine = args_.buffer(s).pieces;
        if (mine.empty()) {
            b.data = static_cast<std::byte*>(comm_.resolve(r, h));
            b.pieces = {};
            return;
        }
        auto& pieces = peer_pieces_[static_cast<std::size_t>(s * comm_.size() + r)];
        const auto* handles = static_cast<const buffer_handle*>(comm_.resolve(r, h));
        pieces.resize(mine.size());
        for (std::size_t i = 0; i < mine.size(); ++i) { pieces[i] = {comm_.resolve(r, handles[i]), mine[i].count}; }
        b.pieces = pieces;
    }

    /// Workspace slots lie one after the other in one block of memory that peers can touch.
    void prepare_workspace()
    {
        std::size_t bytes = 0;
        const auto place = [&](auto&& use) {
            bytes = 0;
            for (int s = 0; s < image_.plan->n_slots; ++s) {
                if (image_.plan->slots[s].is_tensor) { continue; }
                const node& n = image_.node_of(image_.plan->slots[s].node);
                use(s, bytes);
                // Room for the whole: other ranks' parts have other sizes, and all blocks must be laid out alike.
                bytes += (static_cast<std::size_t>(args_.elements_of(n)) * size_of(n.type) + 63) / 64 * 64;
            }
        };
        place([](int, std::size_t) {});
        if (bytes > workspace_size_) { grow_workspace(bytes); }
        place([&](int s, std::size_t at) {
            args_.buffer(s) = {workspace_ + at, {}};
            for (int r = 0; r < comm_.size(); ++r) {
                if (r != comm_.rank()) { peers_.of(s, r) = {peer_workspace_[static_cast<std::size_t>(r)] + at, {}}; }
            }
        });
    }
    void grow_workspace(std::size_t bytes)
    {
        release_workspace();
        workspace_ = static_cast<std::byte*>(comm_.allocate(bytes));
        workspace_size_ = bytes;
        header& mine = records_[parity_].head;
        parity_ ^= 1;
        mine = header{};
        mine.handles = comm_.handle_of(workspace_, bytes);
        const auto all = comm_.exchange(&mine, sizeof(header), where("workspace"));
        for (int r = 0; r < comm_.size(); ++r) {
            const auto& theirs = *static_cast<const header*>(all[static_cast<std::size_t>(r)]);
            peer_workspace_[static_cast<std::size_t>(r)] = static_cast<std::byte*>(comm_.resolve(r, theirs.handles));
        }
    }
    void release_workspace() noexcept
    {
        if (workspace_ != nullptr) { comm_.deallocate(workspace_, workspace_size_); }
        workspace_ = nullptr;
        workspace_size_ = 0;
    }

    void run_pass(int p)
    {
        const pass_plan& pass = image_.plan->passes[p];
        if (pass.barrier_before) { comm_.barrier(where("between passes")); }
        const host::pass_context context{args_, pass, image_.kernels[static_cast<std::size_t>(p)], peers_, tiles_, partials_};
        switch (pass.kind) {
        case pass_kind::map: host::map_pass(context).run(); break;
        case pass_kind::all_reduce: host::map_pass(context).run_all_reduce(); break;
        case pass_kind::reduce_axis: host::reduce_pass(context).run(); break;
        case pass_kind::all_to_all: host::run_all_to_all(context); break;
        }
    }

    Communicator& comm_;
    program_image image_;
    arguments args_;
    host::peer_buffers peers_;
    std::array<record, 2> records_;
    std::array<std::vector<std::vector<buffer_handle>>, 2> piece_handles_;
    std::vector<std::vector<piece>> peer_pieces_;
    std::vector<std::byte*> peer_workspace_;
    std::byte* workspace_ = nullptr;
    std::size_t workspace_size_ = 0;
    unsigned parity_ = 0;
    host::tile_memory tiles_;
    std::vector<std::byte> partials_;
    std::string where_;
};

template <auto Graph, class Communicator>
executable(program_t<Graph>, Communicator&) -> executable<Communicator>;

}  // namespace plait
