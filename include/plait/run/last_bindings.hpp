// What a run was given the last time: a run that binds the same buffers again need not be checked again.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/run/binding.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace plait::detail {

/// The bindings of the last run that was bound without an error.
class last_bindings {
  public:
    explicit last_bindings(const program_image& image) : image_(image) {}

    /// Whether all but the values of scalars is as it was.
    [[nodiscard]] bool is_repeated(view<const binding> bindings) const
    {
        if (last_.size() != bindings.size() || bindings.empty()) { return false; }
        std::size_t piece_at = 0;
        std::size_t count_at = 0;
        for (std::size_t i = 0; i < bindings.size(); ++i) {
            const binding& a = last_[i];
            const binding& b = bindings[i];
            const bool same = a.what == b.what && name(i) == b.name && a.type == b.type &&
                              a.read_only == b.read_only && a.data == b.data && a.count == b.count &&
                              a.pieces.size() == b.pieces.size() && a.counts.size() == b.counts.size();
            if (!same) { return false; }
            for (std::size_t p = 0; p < b.pieces.size(); ++p) {
                if (b.pieces[p] != pieces_[piece_at + p]) { return false; }
            }
            for (std::size_t c = 0; c < b.counts.size(); ++c) {
                if (b.counts[c] != counts_[count_at + c]) { return false; }
            }
            piece_at += b.pieces.size();
            count_at += b.counts.size();
        }
        return true;
    }
    /// The symbol of binding i.
    [[nodiscard]] int symbol(std::size_t i) const { return symbols_[i]; }

    void forget() { last_.clear(); }
    void remember(view<const binding> bindings)
    {
        last_.clear();
        symbols_.clear();
        pieces_.clear();
        counts_.clear();
        for (const binding& b : bindings) {
            last_.push_back(b);
            symbols_.push_back(image_.symbol(b.name));
            for (const piece& p : b.pieces) { pieces_.push_back(p); }
            for (std::int64_t c : b.counts) { counts_.push_back(c); }
        }
    }

  private:
    /// From the program: the caller's name may be gone.
    [[nodiscard]] std::string_view name(std::size_t i) const { return image_.text(symbols_[i]); }

    const program_image& image_;
    std::vector<binding> last_;
    std::vector<int> symbols_;
    std::vector<piece> pieces_;
    std::vector<std::int64_t> counts_;
};

}  // namespace plait::detail
