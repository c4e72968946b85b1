#include <plait/core/read_file.hpp>
#include <plait/core/write_file.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

namespace fs = std::filesystem;

TEST_CASE("a file is replaced whole, and a failure leaves the old one")
{
    const fs::path folder = fs::temp_directory_path() / ("plait_files_" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const std::string path = (folder / "file").string();
    CHECK(!plait::read_file(path));
    plait::write_file(path, "one");
    CHECK(plait::read_file(path) == "one");
    plait::write_file(path, std::string("t\0wo", 4));
    CHECK(plait::read_file(path) == std::string("t\0wo", 4));
    plait::write_file(path, "");
    CHECK(plait::read_file(path) == "");

    const std::string nowhere = (folder / "none" / "file").string();
    CHECK_THROWS_AS(plait::write_file(nowhere, "x"), plait::error);
    fs::create_directory(folder / "taken");
    CHECK_THROWS_AS(plait::write_file((folder / "taken").string(), "x"), plait::error);
    CHECK_THROWS_AS(static_cast<void>(plait::read_file((folder / "taken").string())), plait::error);
    int left = 0;
    for (const auto& entry : fs::directory_iterator(folder)) { left += entry.path().extension() == ".tmp" ? 1 : 0; }
    CHECK(left == 0);
    fs::remove_all(folder);
}
