// What ranks tell each other before a run: that all run the same program on arguments that fit, and where buffers are.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/communicator.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/lowered.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::detail {

/// One rank's side of it. One exchange per run; a second one when buffers or extents of some rank are new.
template <class Communicator>
class agreement {
  public:
    agreement(Communicator& comm, arguments& args)
        : comm_(comm),
          args_(args),
          image_(args.image()),
          peer_pieces_(static_cast<std::size_t>(image_.n_slots() * args.ranks()))
    {
        values_.resize(image_.symbols.size());
        staged_.resize(static_cast<std::size_t>(image_.n_slots()));
        for (int r = 0; r < comm.size(); ++r) {
            shares_ = shares_ || (r != comm.rank() && comm.shares(r));
            some_are_remote_ = some_are_remote_ || !comm.shares(r);
        }
    }

    /// Meets the others. `problem` is this rank's error, or empty; `changed`: buffers or extents differ from the last
    /// run's. On return the buffers of all ranks are in the arguments; returns whether any of them was new. A buffer that this rank cannot reach is null, and one that none but its owner
    /// can is staged.
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
            h.details = details_.size() * sizeof(std::uint64_t);
        }
        h.program = image_.hash;
        h.chosen = args_.parameters();
        h.is_new = generation_ != last_generation_;
        const auto all = comm_.exchange(&h, sizeof(header), where);
        for (int r = 0; r < comm_.size(); ++r) { throw_if_failed(of(all, r), problem, r); }
        bool is_new = false;
        std::size_t bytes = 0;
        for (int r = 0; r < comm_.size(); ++r) {
            if (!same(of(all, r), h)) { throw_difference(all, where); }
            is_new = is_new || of(all, r).is_new;
            bytes = std::max(bytes, of(all, r).details);
        }
        if (is_new) { connect(bytes, where); }
        last_generation_ = generation_;
        return is_new;
    }
    /// A hash of the extents of the last run that all agreed on.
    [[nodiscard]] std::uint64_t extents() const { return extents_; }
    /// Whether some rank's buffer for a slot lies where ranks on its host cannot reach it, or cannot be sent as it is in
    /// pieces. All ranks say the same.
    [[nodiscard]] bool is_staged(int slot) const { return staged_[static_cast<std::size_t>(slot)]; }

  private:
    struct header {
        std::uint64_t program = 0;
        std::uint64_t extents = 0;  // a hash
        std::uint64_t scalars = 0;  // a hash
        std::size_t details = 0;    // bytes to tell if something is new
        parameters chosen{};
        bool is_new = false;
        bool failed = false;
        char why[400]{};
    };
    static const header& of(view<const void* const> all, int r)
    {
        return *static_cast<const header*>(all[static_cast<std::size_t>(r)]);
    }
    static bool same(const header& a, const header& b)
    {
        return a.program == b.program && a.extents == b.extents && a.scalars == b.scalars && a.chosen == b.chosen;
    }
    [[nodiscard]] bool is_shared(int slot) const
    {
        return image_.slot_of(slot).peers_touch && image_.slot_of(slot).is_tensor;
    }

    /// Extents, and where this rank's buffers are: whether another rank shares memory with it, then per shared slot the
    /// number of its pieces (one_buffer if it is contiguous), then per buffer two words of a handle and the number of
    /// elements.
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
        details_.assign(1, shares_ ? 1 : 0);
        for (int s = 0; s < image_.n_slots(); ++s) {
            if (!is_shared(s) || !args_.holds(s)) { continue; }
            const node& n = image_.slot_node(s);
            const bound_buffer& b = args_.buffer(s);
            const auto add = [&](const void* data, std::int64_t count) {
                const buffer_handle h = comm_.handle_of(data, static_cast<std::size_t>(count) * size_of(n.type));
                for (const std::uint64_t word : {h.space, h.offset, static_cast<std::uint64_t>(count)}) { details_.push_back(word); }
            };
            details_.push_back(b.pieces.data() == nullptr ? one_buffer : b.pieces.size());
            for (const piece& p : b.pieces) { add(p.data, p.count); }
            if (b.pieces.data() == nullptr) { add(b.data, args_.stored_elements_of(n)); }
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
    [[noreturn]] void throw_difference(view<const void* const> all, const char* where)
    {
        int usual = 0;
        int best = 0;
        bool one_program = true;
        for (int r = 0; r < comm_.size(); ++r) {
            int equal = 0;
            for (int q = 0; q < comm_.size(); ++q) { equal += same(of(all, r), of(all, q)) ? 1 : 0; }
            if (equal > best) {
                best = equal;
                usual = r;
            }
            one_program = one_program && of(all, r).program == image_.hash;
        }
        std::vector<int> odd;
        bool told = false;
        std::string what = joined({"program \"", image_.name, "\" differs between ranks:"});
        for (int r = 0; r < comm_.size(); ++r) {
            if (same(of(all, r), of(all, usual))) { continue; }
            odd.push_back(r);
            const bool other = of(all, r).program != of(all, usual).program;
            const parameters& theirs = of(all, r).chosen;
            const bool chose = theirs != of(all, usual).chosen;
            const std::string how = other ? joined({"another program or schedule than rank ", usual})
                                    : chose ? joined({"set to ", chosen_text(theirs), ", others to ", chosen_text(of(all, usual).chosen)})
                                          : std::string("other arguments");
            told = told || chose;
            if (!one_program || chose) { what += joined({" rank ", r, ": ", how, ";"}); }
        }
        if (one_program && !told) {
            const auto values = comm_.exchange(values_.data(), values_.size() * sizeof(std::uint64_t), where);
            const auto of_rank = [&](int r) {
                return static_cast<const std::uint64_t*>(values[static_cast<std::size_t>(r)]);
            };
            for (int r : odd) {
                what += joined({" rank ", r, ": ", difference(of_rank(r), of_rank(usual), usual), ";"});
            }
        }
        throw error({what, " give all ranks the same"});
    }
    static std::string chosen_text(const parameters& p)
    {
        const std::string text = text_of(p);
        return text.empty() ? "plait's own choice" : text;
    }
    [[nodiscard]] std::string difference(const std::uint64_t* odd, const std::uint64_t* others, int usual) const
    {
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

    /// Tells where this rank's buffers are, and finds those of all others.
    void connect(std::size_t bytes, const char* where)
    {
        details_.resize(bytes / sizeof(std::uint64_t));  // records of one exchange have one size
        const auto all = comm_.exchange(details_.data(), bytes, where);
        std::vector<const std::uint64_t*> next;
        std::vector<bool> shares;
        for (const void* record : all) {
            const auto* words = static_cast<const std::uint64_t*>(record);
            shares.push_back(words[0] != 0);
            next.push_back(words + 1);
        }
        for (int s = 0; s < image_.n_slots(); ++s) {
            staged_[static_cast<std::size_t>(s)] = false;
            if (is_shared(s)) { throw_if_scattered_differently(s, next); }
            for (int r = 0; r < comm_.size() && is_shared(s); ++r) {
                const int g = image_.slot_node(s).group;
                if (g != any_group && r / args_.ranks() != g) { continue; }
                const bool reached = connect(s, r, next[static_cast<std::size_t>(r)]);
                if (!reached && shares[static_cast<std::size_t>(r)]) { staged_[static_cast<std::size_t>(s)] = true; }
            }
        }
    }
    /// All ranks see the same, and throw together.
    void throw_if_scattered_differently(int s, const std::vector<const std::uint64_t*>& records) const
    {
        bool some = false;
        bool others = false;
        for (int r = 0; r < comm_.size(); ++r) {
            const int g = image_.slot_node(s).group;
            if (g != any_group && r / args_.ranks() != g) { continue; }
            (*records[static_cast<std::size_t>(r)] == one_buffer ? others : some) = true;
        }
        if (!some || !others) { return; }
        throw error({"program \"", image_.name, "\": tensor \"", image_.text(image_.slot_node(s).name),
                     "\" is scattered on some ranks and one buffer on others; bind it alike on all ranks"});
    }
    /// Finds the buffer of rank r for slot s. Returns whether ranks that share memory with r can reach it.
    bool connect(int s, int r, const std::uint64_t*& record)
    {
        bool reached = true;
        const std::uint64_t pieces = *record++;
        const int in_group = r % args_.ranks();
        const bool same_place = r != args_.world_rank() && args_.holder_of(s, in_group) == r;
        auto& list = peer_pieces_[static_cast<std::size_t>(s * args_.ranks() + in_group)];
        const std::size_t count = pieces == one_buffer ? 1 : pieces;
        if (pieces != one_buffer && some_are_remote_) { staged_[static_cast<std::size_t>(s)] = true; }
        std::vector<piece> found(count);
        for (piece& p : found) {
            const buffer_handle h{record[0], record[1]};
            if constexpr (requires { Communicator::reachable(h); }) { reached = reached && Communicator::reachable(h); }
            p.data = comm_.resolve(r, h);
            p.count = static_cast<std::int64_t>(record[2]);
            record += 3;
        }
        if (!same_place) { return reached; }
        if (pieces == one_buffer) {
            args_.buffer(s, in_group) = {static_cast<std::byte*>(found[0].data), {}};
            return reached;
        }
        list = std::move(found);
        args_.buffer(s, in_group) = {nullptr, {list.data(), list.size()}};
        return reached;
    }

    static constexpr std::uint64_t one_buffer = ~std::uint64_t{0};

    Communicator& comm_;
    arguments& args_;
    const program_image& image_;
    std::uint64_t generation_ = 0;        // of this rank's buffers and extents
    std::uint64_t described_ = 0;         // the generation of what follows
    std::uint64_t last_generation_ = 0;   // of the last run that all agreed on
    std::uint64_t extents_ = 0;           // their hash
    std::vector<std::uint64_t> values_;   // by symbol: a dimension's number, a scalar's bits
    std::vector<std::uint64_t> details_;  // see describe
    std::vector<std::vector<piece>> peer_pieces_;
    std::vector<bool> staged_;  // by slot
    bool shares_ = false;       // memory with some other rank
    bool some_are_remote_ = false;
};

}  // namespace plait::detail
