// Tables and quantities as text.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace plait {

/// Three figures of a number with a unit: "1.5 MB", "23 us", "87%", "2.4x".
inline std::string figures_text(double x, const char* unit)
{
    char text[64];
    std::snprintf(text, sizeof text, x >= 100 ? "%.0f%s" : x >= 10 ? "%.1f%s" : "%.2f%s", x, unit);
    return text;
}
inline std::string bytes_text(double bytes)
{
    const char* const units[] = {" B", " kB", " MB", " GB", " TB"};
    int u = 0;
    for (; bytes >= 1000 && u < 4; ++u) { bytes /= 1000; }
    return u == 0 ? std::to_string(static_cast<long long>(std::llround(bytes))) + units[0] : figures_text(bytes, units[u]);
}
inline std::string seconds_text(double s)
{
    return s >= 1 ? figures_text(s, " s") : s >= 1e-3 ? figures_text(s * 1e3, " ms") : figures_text(s * 1e6, " us");
}
inline std::string percent_text(double share) { return std::to_string(static_cast<int>(std::lround(100 * share))) + "%"; }
inline std::string factor_text(double x) { return figures_text(x, "x"); }

/// Rows of cells in aligned columns: the first to the left, the others to the right.
class table {
  public:
    explicit table(std::vector<std::string> head) : rows_{std::move(head)} {}
    /// Adds a row of as many cells as the head has.
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    [[nodiscard]] std::string text() const
    {
        std::vector<std::size_t> width(rows_[0].size());
        for (const auto& r : rows_) {
            for (std::size_t c = 0; c < r.size(); ++c) { width[c] = std::max(width[c], r[c].size()); }
        }
        std::string s;
        for (const auto& r : rows_) {
            std::string line = "  ";
            for (std::size_t c = 0; c < r.size(); ++c) {
                const std::string space(width[c] - r[c].size(), ' ');
                line += c == 0 ? r[c] + space : "  " + space + r[c];
            }
            s += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        }
        return s;
    }

  private:
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace plait
