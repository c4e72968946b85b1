// What ranks tell each other before a run: that all run the same program on arguments that fit, and where buffers are.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/plan/arguments.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace plait::detail {

/// One rank's side of it. One exchange per run; what has not changed since the last run is not looked at again.
template <class Communicator>
class agreement {
  public:
    agreement(Communicator& comm, arguments& args)
        : comm_(comm), args_(args), image_(args.image()), seen_(static_cast<std::size_t>(comm.size()))
    {
        const auto slots = static_cast<std::size_t>(image_.n_slots());
        for (record& r : records_) {
            r.values.resize(image_.symbols.size());
            r.handles.resize(slots);
            r.pieces.resize(slots);
        }
        peer_pieces_.resize(slots * static_cast<std::size_t>(comm.size()));
    }

    /// Meets the others. `problem` is this rank's error, or empty; `changed`: buffers or extents differ from the last
    /// run's. On return the buffers of all ranks are in the arguments.
    /// @throws plait::error on every rank if any has a problem, or if they differ.
    void reach(const std::string& problem, bool changed, const char* where)
    {
        if (changed) { ++generation_; }
        record& mine = records_[parity_];
        parity_ ^= 1;
        header& h = mine.head;
        h.failed = !problem.empty();
        if (h.failed) {
            const std::size_t length = problem.copy(h.why, sizeof h.why - 1);
            h.why[length] = '\0';
        } else {
            if (mine.generation != generation_) { describe(mine); }
            add_scalars(mine);
        }
        h.program = image_.hash;
        h.generation = generation_;
        const auto all = comm_.exchange(&h, sizeof(header), where);
        for (int r = 0; r < comm_.size(); ++r) { throw_if_failed(of(all, r), problem, r); }
        for (int r = 0; r < comm_.size(); ++r) {
            if (!same(of(all, r), h)) { throw_difference(all); }
        }
        for (int r = 0; r < comm_.size(); ++r) {
            const header& theirs = of(all, r);
            const std::array<std::uint64_t, 2> known{theirs.generation, generation_};
            if (r == comm_.rank() || seen_[static_cast<std::size_t>(r)] == known) { continue; }
            connect(r, theirs);
            seen_[static_cast<std::size_t>(r)] = known;
        }
    }

  private:
    struct header {
        std::uint64_t program = 0;
        std::uint64_t extents = 0;  // a hash
        std::uint64_t scalars = 0;  // a hash
        std::uint64_t generation = 0;
        bool failed = false;
        char why[512]{};
        buffer_handle values{};
        buffer_handle handles{};
    };
    struct record {
        header head;
        std::uint64_t generation = 0;
        std::vector<std::uint64_t> values;   // by symbol: a dimension's number, a scalar's bits
        std::vector<buffer_handle> handles;  // by slot: of the buffer, or of the list of its pieces
        std::vector<std::vector<buffer_handle>> pieces;
    };
    static const header& of(std::span<const void* const> all, int r)
    {
        return *static_cast<const header*>(all[static_cast<std::size_t>(r)]);
    }
    static bool same(const header& a, const header& b)
    {
        return a.program == b.program && a.extents == b.extents && a.scalars == b.scalars;
    }
    [[nodiscard]] bool is_shared(int slot) const
    {
        return image_.slot_of(slot).peers_touch && image_.slot_of(slot).is_tensor;
    }

    /// Extents and where this rank's buffers are.
    void describe(record& mine)
    {
        mine.generation = generation_;
        header& h = mine.head;
        h.extents = 0;
        const auto extents = args_.extents();
        for (std::size_t i = 0; i < extents.size(); ++i) {
            mine.values[i] = static_cast<std::uint64_t>(extents[i]);
            h.extents = mix(h.extents, mine.values[i]);
            for (std::int64_t c : args_.counts()[i]) { h.extents = mix(h.extents, static_cast<std::uint64_t>(c)); }
        }
        for (int s = 0; s < image_.n_slots(); ++s) {
            if (!is_shared(s)) { continue; }
            const auto at = static_cast<std::size_t>(s);
            const node& n = image_.slot_node(s);
            const bound_buffer& b = args_.buffer(s);
            const std::size_t size = size_of(n.type);
            mine.pieces[at].clear();
            for (const piece& p : b.pieces) {
                mine.pieces[at].push_back(comm_.handle_of(p.data, static_cast<std::size_t>(p.count) * size));
            }
            mine.handles[at] =
                b.pieces.empty()
                    ? comm_.handle_of(b.data, static_cast<std::size_t>(args_.stored_elements_of(n)) * size)
                    : comm_.handle_of(mine.pieces[at].data(), mine.pieces[at].size() * sizeof(buffer_handle));
        }
        h.values = comm_.handle_of(mine.values.data(), mine.values.size() * sizeof(std::uint64_t));
        h.handles = comm_.handle_of(mine.handles.data(), mine.handles.size() * sizeof(buffer_handle));
    }
    void add_scalars(record& mine)
    {
        mine.head.scalars = 0;
        for (const node& n : image_.nodes) {
            if (n.kind != op::scalar) { continue; }
            std::uint64_t bits = 0;
            std::memcpy(&bits, args_.scalar(n.name), size_of(n.type));
            mine.values[static_cast<std::size_t>(n.name)] = bits;
            mine.head.scalars = mix(mine.head.scalars, bits);
        }
    }

    void throw_if_failed(const header& theirs, const std::string& problem, int r) const
    {
        if (!theirs.failed) { return; }
        if (!problem.empty()) { throw error(problem); }
        throw error({"rank ", r, ": ", theirs.why});
    }

    /// Names the ranks that differ from most, and in what.
    [[noreturn]] void throw_difference(std::span<const void* const> all) const
    {
        int usual = 0;
        int best = 0;
        for (int r = 0; r < comm_.size(); ++r) {
            int equal = 0;
            for (int q = 0; q < comm_.size(); ++q) { equal += same(of(all, r), of(all, q)) ? 1 : 0; }
            if (equal > best) {
                best = equal;
                usual = r;
            }
        }
        std::string what = joined({"program \"", image_.name, "\" differs between ranks:"});
        for (int r = 0; r < comm_.size(); ++r) {
            if (same(of(all, r), of(all, usual))) { continue; }
            what += joined({" rank ", r, ": ", difference(all, r, usual), ";"});
        }
        throw error({what, " give all ranks the same"});
    }
    [[nodiscard]] std::string difference(std::span<const void* const> all, int r, int usual) const
    {
        if (of(all, r).program != of(all, usual).program) {
            return joined({"another program or schedule than rank ", usual});
        }
        if (of(all, r).program != image_.hash) { return "other arguments"; }  // of a program that is not ours
        const auto* odd = static_cast<const std::uint64_t*>(comm_.resolve(r, of(all, r).values));
        const auto* others = static_cast<const std::uint64_t*>(comm_.resolve(usual, of(all, usual).values));
        for (std::size_t i = 0; i < image_.symbols.size(); ++i) {
            if (odd[i] == others[i]) { continue; }
            const std::string_view name = image_.symbols[i].view();
            for (const node& n : image_.nodes) {
                if (n.kind == op::scalar && n.name == static_cast<int>(i)) {
                    return joined({"another value of scalar \"", name, "\" than rank ", usual});
                }
            }
            return joined({"extent ", name, " = ", static_cast<std::int64_t>(odd[i]), ", others ",
                           static_cast<std::int64_t>(others[i])});
        }
        return joined({"other counts of the tensors of a dimension than rank ", usual});
    }

    /// Finds the buffers of rank r.
    void connect(int r, const header& theirs)
    {
        const auto* handles = static_cast<const buffer_handle*>(comm_.resolve(r, theirs.handles));
        for (int s = 0; s < image_.n_slots(); ++s) {
            if (!is_shared(s)) { continue; }
            bound_buffer& b = args_.buffer(s, r);
            const std::span<const piece> mine = args_.buffer(s).pieces;
            void* address = comm_.resolve(r, handles[s]);
            if (mine.empty()) {
                b = {static_cast<std::byte*>(address), {}};
                continue;
            }
            auto& pieces = peer_pieces_[static_cast<std::size_t>(s * comm_.size() + r)];
            const auto* list = static_cast<const buffer_handle*>(address);
            pieces.resize(mine.size());
            for (std::size_t i = 0; i < mine.size(); ++i) { pieces[i] = {comm_.resolve(r, list[i]), mine[i].count}; }
            b = {nullptr, pieces};
        }
    }

    Communicator& comm_;
    arguments& args_;
    const program_image& image_;
    std::array<record, 2> records_;  // in turn: peers may still read the last one
    unsigned parity_ = 0;
    std::uint64_t generation_ = 0;
    std::vector<std::array<std::uint64_t, 2>> seen_;  // by rank: theirs and ours when its buffers were found
    std::vector<std::vector<piece>> peer_pieces_;
};

}  // namespace plait::detail
