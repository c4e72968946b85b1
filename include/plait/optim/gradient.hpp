// What the optimizers share: the averaged gradient, scaled back and clipped.
#pragma once

#include <plait/schedule/schedule.hpp>

#include <type_traits>

namespace plait::optim {

using namespace literals;

/// What an optimizer's program has beside the update itself.
struct options {
    bool scale = false;  ///< gradients are multiplied by scalar `inv_scale` (undoing a loss scale)
    bool clip = false;   ///< gradients are clipped to global norm `max_norm`
};

/// 1 / the loss scale, and the largest global norm (above 0): bound where `options` asks for them.
inline constexpr auto inv_scale = scalar<"inv_scale", float>;
inline constexpr auto max_norm = scalar<"max_norm", float>;

/// The gradient averaged over the ranks, in f32; its all_reduce is labelled "gradient".
/// Clipping: g * min(1, max_norm / (||g|| + 1e-6)) with the norm over all parameters (Pascanu et al. 2013).
template <options Options, expression G>
constexpr auto averaged(G g)
{
    auto mean = label<"gradient">(cast<float>(all_reduce(sum, g)) * (1_c / world_size));
    if constexpr (Options.scale && Options.clip) {
        auto scaled = mean * inv_scale;
        return scaled * min(1_c, max_norm / (norm(scaled) + 1e-6_c));
    } else if constexpr (Options.scale) {
        return mean * inv_scale;
    } else if constexpr (Options.clip) {
        return mean * min(1_c, max_norm / (norm(mean) + 1e-6_c));
    } else {
        return mean;
    }
}

/// The tensors of a data-parallel optimizer over one flat (or scattered) vector of N parameters. `Model` is the dtype
/// in which the model computes; when it is not float, `p` are f32 master parameters and `model` their rounded copy.
template <class Gradient, class Model>
struct parameters {
    static constexpr bool has_copy = !std::is_same_v<Model, float>;
    static constexpr auto N = dim<"N">;
    static constexpr auto g = tensor<"g", Gradient>(local, N);
    static constexpr auto p = tensor<"p", float>(replicated, N);
    static constexpr auto model = tensor<"model", Model>(replicated, N);
    static constexpr auto lr = scalar<"lr", float>;

    /// The program of these updates, and of the model's copy of the new parameters.
    template <fixed_string Name, expression P, expression... States>
    static constexpr auto make_program(P p1, States... states)
    {
        if constexpr (has_copy) {
            return program<Name>(p1, update(model, cast<Model>(p1)), states...);
        } else {
            return program<Name>(p1, states...);
        }
    }

    /// Reduce-scatter, update on slices, all-gather; the named states, and master parameters, stored sliced.
    template <fixed_string... States, class Program>
    static constexpr auto sliced(Program whole)
    {
        auto moved = whole | split<"gradient"> | reorder<"gradient">;
        if constexpr (has_copy) {
            return moved | as_slice<States..., "p">;
        } else {
            return moved | as_slice<States...>;
        }
    }
};

}  // namespace plait::optim
