// All parsers under libFuzzer; see `tests/soak/fuzz --help`. The first byte says which parser reads the rest.
#include "parsers.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv)
{
    // Inputs to begin with, in the folder that is the last argument.
    const std::filesystem::path folder = (*argv)[*argc - 1];
    if (!std::filesystem::is_directory(folder)) { return 0; }
    const std::string good[] = {'\0' + parsers::good_checkpoint(), '\1' + parsers::good_checkpoint(), '\2' + plait::to_json(plait::machine{}),
                                '\3' + parsers::good_decisions()};
    for (const std::string& bytes : good) { std::ofstream(folder / ("good_" + std::to_string(int{bytes[0]})), std::ios::binary) << bytes; }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) { return 0; }
    const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 4) {
    case 0: parsers::read_checkpoint(rest); break;
    case 1: parsers::read_signed_checkpoint(rest); break;
    case 2: parsers::read_machine(rest); break;
    default: parsers::read_decisions(rest);
    }
    return 0;
}
