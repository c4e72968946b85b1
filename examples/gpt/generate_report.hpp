// What generate_pipeline and generate_pipeline_mpi print, and their comparison.
#pragma once

#include "../support/counted.hpp"
#include "../support/progress.hpp"
#include "../support/sample.hpp"
#include "checkpoint.hpp"
#include "generate_options.hpp"
#include "generate_plainly.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace gpt {

/// The model of a checkpoint, without the optimizer's state. Throws failure where there is none, or does not fit.
inline checkpoint load_model(const generate_options& chosen)
{
    checkpoint result = load_checkpoint(chosen.checkpoint);
    result.mean = {};
    result.square = {};
    check_fits(chosen, result.settings.shape);
    return result;
}

/// Prints how far it is.
class generate_report {
  public:
    /// `ranks`: what they are.
    generate_report(const generate_options& chosen, const checkpoint& model, const char* ranks)
        : chosen_(chosen),
          model_(model),
          total_(static_cast<int>(chosen.what.batch * chosen.what.length)),
          bar_(stdout, std::max(total_, 1), 5)
    {
        using demo::counted;
        const model_shape& s = model.settings.shape;
        const auto groups = static_cast<std::size_t>(chosen.groups);
        const std::size_t micro_batches = std::min(chosen.how().micro_batches, chosen.what.batch);
        std::printf(
            "%s of %s (%s) %s %s of %s in %s.\n"
            "The transformer has %s, width %zu, %s and %zu parameters; the first group has %s,\n"
            "the last one %zu. Schedule of the programs: %s.\n\n",
            counted(groups, "pipeline group").c_str(), counted(static_cast<std::size_t>(chosen.ranks), "rank").c_str(), ranks,
            groups == 1 ? "writes" : "write", counted(chosen.what.batch, "text").c_str(),
            counted(chosen.what.length, "byte").c_str(), counted(micro_batches, "micro-batch", "micro-batches").c_str(),
            counted(s.layers, "layer").c_str(), s.width, counted(s.heads, "head").c_str(), model.parameters.size(),
            counted(count(0), "layer").c_str(), count(chosen.groups - 1), name(chosen.schedule).data());
        std::fflush(stdout);
    }

    void operator()(std::size_t done)
    {
        const bool last = static_cast<int>(done) == total_;
        const std::size_t percent = done * 100 / static_cast<std::size_t>(total_);
        if (percent == shown_ && !last) { return; }
        shown_ = percent;
        bar_.show("byte", static_cast<int>(done), "written", seconds(), last);
    }

    /// Prints the texts, and compares them if that was asked for. Throws failure, status 1, if they differ.
    void end(const std::vector<std::string>& texts)
    {
        const double parallel = seconds();
        std::printf("%.0f bytes a second\n", total_ / std::max(parallel, 1e-9));
        for (std::size_t t = 0; t < texts.size(); ++t) {
            std::printf("\n-- text %zu --\n%s\n", t + 1, demo::printable(chosen_.what.prompt + texts[t]).c_str());
        }
        std::fflush(stdout);
        if (!chosen_.compare) { return; }
        start_ = std::chrono::steady_clock::now();
        const std::vector<std::string> plain = generate_plainly(model_.settings.shape, model_.parameters, chosen_.what);
        check_same(texts, plain);
        std::printf("\nOne rank that computes the whole window for every byte wrote the same, in %.1f s.\n", seconds());
    }

  private:
    static void check_same(const std::vector<std::string>& texts, const std::vector<std::string>& plain)
    {
        for (std::size_t t = 0; t < plain.size(); ++t) {
            const auto [mine, theirs] = std::ranges::mismatch(texts.at(t), plain[t]);
            if (theirs == plain[t].end()) { continue; }
            throw demo::failure(1, "one rank wrote another text " + std::to_string(t + 1) + ", from byte " +
                                       std::to_string(theirs - plain[t].begin()) + " on");
        }
    }
    std::size_t count(int group) const
    {
        const layer_range layers = layers_of(model_.settings.shape.layers, group, chosen_.groups);
        return layers.last - layers.first;
    }
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

    const generate_options& chosen_;
    const checkpoint& model_;
    int total_;
    std::size_t shown_ = 0;  ///< percent
    demo::progress bar_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "usage: PROGRAM ..."
inline void print_generate_usage(const char* program)
{
    std::printf("usage: %s%s", program, generate_usage_text.data());
}

}  // namespace gpt
