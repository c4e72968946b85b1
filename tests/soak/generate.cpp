// Writes the source of random programs; the same arguments give the same text.
#include "broken.hpp"

#include <cstdlib>
#include <iostream>
#include <string_view>

int main(int argc, char** argv)
{
    if (argc != 4) {
        std::cerr << "usage: generate SEED PROGRAMS SCHEDULES   random programs with random schedules of each\n"
                     "       generate SEED CASES invalid        programs that break a rule, one for each number that CASE is\n";
        return 2;
    }
    const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const int programs = std::atoi(argv[2]);
    const int schedules = std::atoi(argv[3]);
    const bool invalid = std::string_view(argv[3]) == "invalid";
    std::cout << "// Random programs of seed " << seed << ".\n#include " << (invalid ? "<plait/plait.hpp>" : "\"soak/candidate.hpp\"")
              << "\n\nnamespace {\nnamespace pl = plait;\nusing namespace pl::literals;\n"
              << "[[maybe_unused]] constexpr auto M = pl::dim<\"M\">;\n[[maybe_unused]] constexpr auto N = pl::dim<\"N\">;\n";
    for (int i = 0; i < programs; ++i) {
        const std::string name = "s" + std::to_string(seed) + "_" + std::to_string(i);
        const std::uint64_t own = seed * 1000003 + static_cast<std::uint64_t>(i);
        std::cout << "\n" << (invalid ? soak::broken_program(own, i) : soak::random_program(own, name, schedules));
    }
    std::cout << "\n}  // namespace\n";
}
