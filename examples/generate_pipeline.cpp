// Writes text with a model that train_gpt has saved, on pipeline groups of tensor-parallel ranks that are threads. How
// a group computes is in gpt/stage_programs.hpp; what travels between groups is one program, in gpt/handover.hpp.
#include "gpt/generate_report.hpp"
#include "gpt/generate_threads.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <span>

namespace {

void run(const gpt::generate_options& chosen)
{
    const gpt::checkpoint model = gpt::load_model(chosen);
    gpt::generate_report report(chosen, model, "threads");
    report.end(gpt::generate_on_threads(model.settings.shape, model.parameters, chosen.what, chosen.how(), chosen.ranks,
                                        [&](std::size_t done) { report(done); }));
}

}  // namespace

int main(int argument_count, char** arguments)
{
    try {
        const std::span<const char* const> all(arguments, static_cast<std::size_t>(argument_count));
        const gpt::generate_options chosen = gpt::parse_generate_options(all.subspan(all.empty() ? 0 : 1));
        if (chosen.help) {
            gpt::print_generate_usage("generate_pipeline");
        } else {
            run(chosen);
        }
        return 0;
    } catch (const demo::failure& problem) {
        std::fprintf(stderr, "generate_pipeline: %s\n", problem.what());
        return problem.status;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "generate_pipeline: there is not enough memory: a smaller --batch may help\n");
        return 1;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "generate_pipeline: %s\n", problem.what());
        return 1;
    }
}
