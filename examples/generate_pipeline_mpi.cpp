// generate_pipeline on processes: mpirun -n GROUPS*RANKS generate_pipeline_mpi --groups GROUPS --ranks RANKS ...
// The same code as on threads, with another communicator.
#include "gpt/generate_report.hpp"

#include <plait/fabric/mpi.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr plait::mpi_options options{.deadline = std::chrono::minutes(10)};

/// The MPI communicator of a pipeline group.
class group_of_processes {
  public:
    group_of_processes(int rank, int ranks) { MPI_Comm_split(MPI_COMM_WORLD, rank / ranks, rank, &comm_); }
    group_of_processes(const group_of_processes&) = delete;
    group_of_processes& operator=(const group_of_processes&) = delete;
    ~group_of_processes() { MPI_Comm_free(&comm_); }
    MPI_Comm get() const { return comm_; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Runs f and returns the status to exit with. If it throws on some processes, the first of them says why.
template <class F>
int tell_once(int rank, int ranks, F&& f)
{
    std::string why;
    int status = 0;
    try {
        f();
    } catch (const demo::failure& problem) {
        why = problem.what();
        status = problem.status;
    } catch (const std::exception& problem) {
        why = problem.what();
        status = 1;
    }
    const int mine = status == 0 ? ranks : rank;
    int first = ranks;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank) { std::fprintf(stderr, "generate_pipeline_mpi: %s\n", why.c_str()); }
    if (first < ranks) { MPI_Bcast(&status, 1, MPI_INT, first, MPI_COMM_WORLD); }
    return status;
}

void run(const gpt::generate_options& chosen, const gpt::checkpoint& model, int rank)
{
    std::optional<gpt::generate_report> report;
    if (rank == 0) { report.emplace(chosen, model, "processes"); }
    std::vector<std::string> texts;
    const group_of_processes group(rank, chosen.ranks);
    plait::mpi::run(
        MPI_COMM_WORLD,
        [&](plait::mpi_communicator& all) {
            plait::mpi::run(
                group.get(),
                [&](plait::mpi_communicator& own) {
                    try {
                        texts =
                            gpt::generate(all, own, model.settings.shape, model.parameters, chosen.what, chosen.how(),
                                          report ? std::function([&](std::size_t done) { (*report)(done); })
                                                 : std::function<void(std::size_t)>());
                    } catch (...) {
                        all.fail(plait::detail::text_of_current_exception());
                        throw;
                    }
                },
                options);
        },
        options);
    if (report) { report->end(texts); }
}

}  // namespace

int main(int argument_count, char** arguments)
{
    MPI_Init(&argument_count, &arguments);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    gpt::generate_options chosen;
    gpt::checkpoint model;
    int status = tell_once(rank, ranks, [&] {
        const std::span<const char* const> all(arguments, static_cast<std::size_t>(argument_count));
        chosen = gpt::parse_generate_options(all.subspan(all.empty() ? 0 : 1));
        if (chosen.help) { return; }
        if (chosen.groups * chosen.ranks != ranks) {
            throw demo::usage_failure("there are " + std::to_string(ranks) + " processes, not " +
                                      std::to_string(chosen.groups) + " groups of " + std::to_string(chosen.ranks) +
                                      ": --groups times --ranks must be mpirun's -n");
        }
        model = gpt::load_model(chosen);
    });
    if (status == 0 && chosen.help) {
        if (rank == 0) { gpt::print_generate_usage("mpirun -n GROUPS*RANKS generate_pipeline_mpi"); }
    } else if (status == 0) {
        status = tell_once(rank, ranks, [&] { run(chosen, model, rank); });
    }
    MPI_Finalize();
    return status;
}
