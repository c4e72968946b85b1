// Where the boxes and lines of a program's picture are.
#pragma once

#include <plait/plan/picture.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace plait::detail {

/// Places the boxes of a picture in rows, each box below those that it is computed from (Sugiyama, Tagawa and Toda 1981): rows by
/// stage and depth, orders and places in rows by the means of neighbours. A line over several rows has a bend in each.
class graph_layout {
  public:
    static constexpr double box_height = 34;
    static constexpr double row_height = 54;
    static constexpr double heading = 30;  // above the first row of a stage

    /// A box, or a bend of a line.
    struct spot {
        int box = -1;
        std::size_t row = 0;
        double x = 0;  // its middle
        double width = 2;
        std::vector<std::size_t> above{};
        std::vector<std::size_t> below{};
    };
    struct row {
        int stage = -1;
        std::vector<std::size_t> spots{};
        double y = 0;
    };

    explicit graph_layout(const picture& p) : p_(p), spot_of_(p.boxes.size())
    {
        find_rows();
        connect();
        for (int i = 0; i < 8; ++i) { order(i % 2 == 0); }
        place();
    }

    std::vector<spot> spots{};
    std::vector<row> rows{};
    std::vector<std::vector<std::size_t>> lines{};  // the spots that each leads through
    double width = 0;
    double height = 0;

  private:
    static constexpr double letter = 6.9;
    static constexpr double small_letter = 5.6;
    static constexpr double margin = 16;

    [[nodiscard]] const picture::box& box(std::size_t i) const { return p_.boxes[i]; }

    void find_rows()
    {
        const std::size_t n = p_.boxes.size();
        std::vector<int> depth(n);
        for (const picture::line& l : p_.lines) {  // in order of `to`
            const auto from = static_cast<std::size_t>(l.from);
            const auto to = static_cast<std::size_t>(l.to);
            if (box(from).stage == box(to).stage) { depth[to] = std::max(depth[to], depth[from] + 1); }
        }
        // Tensors stand right above what uses them first.
        std::vector<int> first_use(n, -1);
        for (const picture::line& l : p_.lines) {
            const auto from = static_cast<std::size_t>(l.from);
            const auto to = static_cast<std::size_t>(l.to);
            if (box(from).look != box_look::tensor || box(from).stage != box(to).stage) { continue; }
            first_use[from] = first_use[from] < 0 ? depth[to] : std::min(first_use[from], depth[to]);
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (first_use[i] > 0) { depth[i] = first_use[i] - 1; }
        }
        std::vector<std::pair<int, int>> levels;
        for (std::size_t i = 0; i < n; ++i) { levels.emplace_back(box(i).stage, depth[i]); }
        std::vector<std::pair<int, int>> sorted = levels;
        std::ranges::sort(sorted);
        sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
        rows.resize(sorted.size());
        for (std::size_t i = 0; i < n; ++i) {
            const auto r = static_cast<std::size_t>(std::ranges::lower_bound(sorted, levels[i]) - sorted.begin());
            rows[r].stage = levels[i].first;
            spot s;
            s.box = static_cast<int>(i);
            s.row = r;
            s.width = 16 + std::max(letter * static_cast<double>(box(i).text.size()), small_letter * static_cast<double>(box(i).type.size()));
            spot_of_[i] = add(s);
        }
    }
    std::size_t add(const spot& s)
    {
        spots.push_back(s);
        rows[s.row].spots.push_back(spots.size() - 1);
        return spots.size() - 1;
    }
    void connect()
    {
        for (const picture::line& l : p_.lines) {
            std::size_t from = spot_of_[static_cast<std::size_t>(l.from)];
            std::vector<std::size_t>& through = lines.emplace_back(1, from);
            const std::size_t to = spot_of_[static_cast<std::size_t>(l.to)];
            for (std::size_t r = spots[from].row + 1; r < spots[to].row; ++r) {
                spot bend;
                bend.row = r;
                const std::size_t b = add(bend);
                link(from, b);
                through.push_back(from = b);
            }
            link(from, to);
            through.push_back(to);
        }
    }
    void link(std::size_t above, std::size_t below)
    {
        spots[above].below.push_back(below);
        spots[below].above.push_back(above);
    }

    /// Sorts each row by the mean place of its spots' neighbours above, or below.
    void order(bool downwards)
    {
        std::vector<double> at(spots.size());
        const auto number = [&](const row& r) {
            for (std::size_t i = 0; i < r.spots.size(); ++i) { at[r.spots[i]] = static_cast<double>(i) + 0.5 * (10 - static_cast<double>(r.spots.size())); }
        };
        for (const row& r : rows) { number(r); }
        for (std::size_t i = 0; i < rows.size(); ++i) {
            row& r = rows[downwards ? i : rows.size() - 1 - i];
            std::vector<std::pair<double, std::size_t>> wanted;
            for (std::size_t s : r.spots) { wanted.emplace_back(mean(downwards ? spots[s].above : spots[s].below, at, at[s]), s); }
            std::ranges::stable_sort(wanted, {}, &std::pair<double, std::size_t>::first);
            for (std::size_t k = 0; k < wanted.size(); ++k) { r.spots[k] = wanted[k].second; }
            number(r);
        }
    }
    static double mean(const std::vector<std::size_t>& of, const std::vector<double>& at, double otherwise)
    {
        double sum = 0;
        for (std::size_t s : of) { sum += at[s]; }
        return of.empty() ? otherwise : sum / static_cast<double>(of.size());
    }

    /// Moves spots towards the mean of their neighbours, as far as those beside them allow.
    void place()
    {
        std::vector<double> at(spots.size());
        for (const row& r : rows) { spread(r, at); }
        for (int i = 0; i < 24; ++i) {
            for (std::size_t k = 0; k < rows.size(); ++k) {
                const row& r = rows[i % 2 == 0 ? k : rows.size() - 1 - k];
                for (std::size_t s : r.spots) {
                    std::vector<std::size_t> all = spots[s].above;
                    all.insert(all.end(), spots[s].below.begin(), spots[s].below.end());
                    at[s] = mean(all, at, at[s]);
                }
                spread(r, at);
            }
        }
        double least = 0;
        for (std::size_t s = 0; s < spots.size(); ++s) { least = std::min(least, at[s] - spots[s].width / 2); }
        double y = 0;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const bool begins = r == 0 || rows[r - 1].stage != rows[r].stage;
            y += begins && rows[r].stage >= 0 ? heading + (r > 0 ? 8 : 0) : 0;
            rows[r].y = y;
            y += row_height;
        }
        height = y;
        for (std::size_t s = 0; s < spots.size(); ++s) {
            spots[s].x = at[s] - least + margin;
            width = std::max(width, spots[s].x + spots[s].width / 2 + margin);
        }
        for (const picture::stage& s : p_.stages) {
            width = std::max(width, letter * static_cast<double>(s.name.size() + remark_on(s).size() + 4) + 2 * margin);
        }
    }
    /// Puts the spots of a row apart: the mean of doing so from the left and from the right.
    void spread(const row& r, std::vector<double>& at) const
    {
        constexpr double gap = 18;
        const auto apart = [&](std::size_t a, std::size_t b) { return (spots[a].width + spots[b].width) / 2 + gap; };
        std::vector<double> left;
        for (std::size_t s : r.spots) { left.push_back(at[s]); }
        std::vector<double> right = left;
        for (std::size_t k = 1; k < left.size(); ++k) { left[k] = std::max(left[k], left[k - 1] + apart(r.spots[k - 1], r.spots[k])); }
        for (std::size_t k = left.size(); k-- > 1;) { right[k - 1] = std::min(right[k - 1], right[k] - apart(r.spots[k - 1], r.spots[k])); }
        for (std::size_t k = 0; k < left.size(); ++k) { at[r.spots[k]] = (left[k] + right[k]) / 2; }
    }

    const picture& p_;
    std::vector<std::size_t> spot_of_;  // by box
};

}  // namespace plait::detail
