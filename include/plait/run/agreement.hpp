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
        values_.resize(image_.symbols.size());
        handles_.resize(slots);
        pieces_.resize(slots);
        peer_pieces_.resize(slots * static_cast<std::size_t>(comm.size()));
    }

    /// Meets the others. `problem` is this rank's error, or empty; `changed`: buffers or extents differ from the last
    /// run's. On return the buffers of all ranks are in the arguments. Returns whether that was new on any rank: then
    /// the ranks must meet once more before they may go on to the next run, as they read each other's lists of buffers.
    /// @throws plait::error on every rank if any has a problem, or if they differ.
    bool reach(const std::string& problem, bool changed, const char* where)
    {
        if (changed) { ++generation_; }
        header h;
        h.failed = !problem.empty();
        if (h.failed) {
            const std::size_t length = problem.copy(h.why, sizeof h.why - 1);
            h.why[length] = '\0';
        } else {
            if (described_ != generation_) { describe(); }
            add_scalars(h);
            h.extents = extents_;
            h.values = comm_.handle_of(values_.data(), values_.size() * sizeof(std::uint64_t));
            h.handles = comm_.handle_of(handles_.data(), handles_.size() * sizeof(buffer_handle));
        }
        h.program = image_.hash;
        h.generation = generation_;
        h.last_generation = last_generation_;
        const auto all = comm_.exchange(&h, sizeof(header), where);
        for (int r = 0; r < comm_.size(); ++r) { throw_if_failed(of(all, r), problem, r); }
        for (int r = 0; r < comm_.size(); ++r) {
            if (!same(of(all, r), h)) { throw_difference(all, where); }
        }
        bool is_new = false;
        for (int r = 0; r < comm_.size(); ++r) {
            const header& theirs = of(all, r);
            const std::array<std::uint64_t, 2> known{theirs.generation, generation_};
            is_new = is_new || theirs.last_generation != theirs.generation;
            if (r == comm_.rank() || seen_[static_cast<std::size_t>(r)] == known) { continue; }
            connect(r, theirs);
            seen_[static_cast<std::size_t>(r)] = known;
        }
        last_generation_ = generation_;
        return is_new;
    }

  private:
    struct header {
        std::uint64_t program = 0;
        std::uint64_t extents = 0;  // a hash
        std::uint64_t scalars = 0;  // a hash
        std::uint64_t generation = 0;
        std::uint64_t last_generation = 0;  // of the last run that all agreed on
        bool failed = false;
        char why[400]{};
        buffer_handle values{};
        buffer_handle handles{};
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
    void describe()
    {
        described_ = generation_;
        extents_ = 0;
        const auto extents = args_.extents();
        for (std::size_t i = 0; i < extents.size(); ++i) {
            values_[i] = static_cast<std::uint64_t>(extents[i]);
            extents_ = mix(extents_, values_[i]);
            for (std::int64_t c : args_.counts()[i]) { extents_ = mix(extents_, static_cast<std::uint64_t>(c)); }
        }
        for (int s = 0; s < image_.n_slots(); ++s) {
            if (!is_shared(s)) { continue; }
            const auto at = static_cast<std::size_t>(s);
            const node& n = image_.slot_node(s);
            const bound_buffer& b = args_.buffer(s);
            const std::size_t size = size_of(n.type);
            pieces_[at].clear();
            for (const piece& p : b.pieces) {
                pieces_[at].push_back(comm_.handle_of(p.data, static_cast<std::size_t>(p.count) * size));
            }
            handles_[at] = b.pieces.empty()
                               ? comm_.handle_of(b.data, static_cast<std::size_t>(args_.stored_elements_of(n)) * size)
                               : comm_.handle_of(pieces_[at].data(), pieces_[at].size() * sizeof(buffer_handle));
        }
    }
    void add_scalars(header& h)
    {
        for (const node& n : image_.nodes) {
            if (n.kind != op::scalar) { continue; }
            std::uint64_t bits = 0;
            std::memcpy(&bits, args_.scalar(n.name), size_of(n.type));
            values_[static_cast<std::size_t>(n.name)] = bits;
            h.scalars = mix(h.scalars, bits);
        }
    }

    void throw_if_failed(const header& theirs, const std::string& problem, int r) const
    {
        if (!theirs.failed) { return; }
        if (!problem.empty()) { throw error(problem); }
        throw error({"rank ", r, ": ", theirs.why});
    }

    /// Names the ranks that differ from most, and in what.
    [[noreturn]] void throw_difference(std::span<const void* const> all, const char* where)
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
        comm_.barrier(where);  // the others read this rank's values for their text
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
    std::uint64_t generation_ = 0;        // of this rank's buffers and extents
    std::uint64_t described_ = 0;         // the generation of what follows
    std::uint64_t last_generation_ = 0;   // of the last run that all agreed on
    std::uint64_t extents_ = 0;           // their hash
    std::vector<std::uint64_t> values_;   // by symbol: a dimension's number, a scalar's bits
    std::vector<buffer_handle> handles_;  // by slot: of the buffer, or of the list of its pieces
    std::vector<std::vector<buffer_handle>> pieces_;
    std::vector<std::array<std::uint64_t, 2>> seen_;  // by rank: theirs and ours when its buffers were found
    std::vector<std::vector<piece>> peer_pieces_;
};

}  // namespace plait::detail
