// Rank 1 dies in the middle of many runs of a program, in the way that the argument names. Every other rank must get an
// error and say so: a line "rank R survives: TEXT". A second argument names files that are written as well, for ranks whose
// output gets lost: NAME.R.begun when the runs have begun, and NAME.R.end with that line. Nobody ends before those files are
// there: a launcher may end all ranks when one has ended, whether or not the others have got as far.
#include <plait/fabric/mpi.hpp>
#include <plait/plait.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace pl = plait;

void die(const std::string& how)
{
    if (how == "exit") { std::_Exit(3); }
    if (how == "abort") { std::abort(); }
    if (how == "kill") { std::raise(SIGKILL); }
    if (how == "stop") { std::raise(SIGSTOP); }  // it hangs, and is there no more for the others
    if (how == "throw") { throw std::runtime_error("root cause"); }
}

void say(const std::string& file, const std::string& text)
{
    std::cout << text + "\n" << std::flush;
    if (file.empty()) { return; }
    std::ofstream(file + ".new") << text + "\n";
    std::filesystem::rename(file + ".new", file);  // whoever sees the file can read it
}

void work(pl::mpi_communicator& comm, const std::string& how, const std::string& begun)
{
    using adam = pl::optim::adam<>;
    const std::int64_t n = 10000;
    const auto part = static_cast<std::size_t>(pl::slice_of(n, comm.rank(), comm.size()).count);
    std::vector<float> g(n, 1.0F), p(n, 1.0F), m(part), v(part);
    pl::executable run{adam::fused, comm};
    for (int t = 0;; ++t) {
        if (comm.rank() == 1 && t == 100) { die(how); }
        if (t == 100 && !begun.empty()) { say(begun, "rank " + std::to_string(comm.rank()) + " is at work"); }
        run(adam::g = g, adam::p = p, adam::m = m, adam::v = v, adam::lr = 0.1F, adam::beta1 = 0.9F, adam::beta2 = 0.9F,
            adam::eps = 1e-8F, adam::c1 = 1.0F, adam::c2 = 1.0F);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    const std::string how = argc > 1 ? argv[1] : "";
    const std::string files = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto file_of = [&](int r, const char* what) { return files.empty() ? "" : files + "." + std::to_string(r) + "." + what; };
    const auto file = [&](const char* what) { return file_of(rank, what); };
    try {
        pl::mpi::run(MPI_COMM_WORLD, [&](pl::mpi_communicator& comm) { work(comm, how, file("begun")); }, {.deadline = std::chrono::seconds(3)});
    } catch (const std::exception& e) {
        say(file("end"), "rank " + std::to_string(rank) + " survives: " + e.what());
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int r = 0; r < ranks && !files.empty(); ++r) {
        const auto has_ended = [&] { return r == 1 || std::filesystem::exists(file_of(r, "end")); };
        while (!has_ended() && std::chrono::steady_clock::now() < until) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
    }
    std::_Exit(0);  // MPI cannot be finalised without the dead
}
