// Writes text with a model that train_gpt has saved, on pipeline groups of tensor-parallel ranks that are threads. How
// a group computes is in gpt/stage_programs.hpp; what travels between groups is one program, in gpt/handover.hpp.
#include "gpt/generate_report.hpp"
#include "gpt/generate_threads.hpp"
#include "support/main.hpp"

#include <cstddef>
#include <cstdio>

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
    return demo::main_of("generate_pipeline", argument_count, arguments, "a smaller --batch",
                         gpt::parse_generate_options, [] { gpt::print_generate_usage("generate_pipeline"); }, run);
}
