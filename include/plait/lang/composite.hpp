// Functions made of simpler operations: activations, norms, softmax. They have no kernels of their own.
#pragma once

#include <plait/graph/rules.hpp>  // first: a compile error about a rule then lists few includes

#include <plait/lang/linear.hpp>

namespace plait {

using namespace literals;

namespace detail {

template <class X>
inline constexpr bool is_low_precision = [] {
    if constexpr (refused_expression<X>) {
        return false;
    } else {
        return X::type.type == dtype::f16 || X::type.type == dtype::bf16;
    }
}();

/// f16 and bf16 values are computed in f32, so that the intermediate steps are not rounded.
template <class X>
constexpr auto widened(X x)
{
    if constexpr (is_low_precision<X>) { return cast<float>(x); } else { return x; }
}

template <class Like, class X>
constexpr auto narrowed(X x)
{
    if constexpr (refused_expression<X> || !is_low_precision<Like>) {
        return x;
    } else {
        return cast<element_t<Like::type.type>>(x);
    }
}

/// x itself, or `refused` when the last dimension, along which the rows run, is sliced.
template <class X>
constexpr auto whole_rows(X x)
{
    if constexpr (refused_expression<X>) {
        return x;
    } else if constexpr (X::type.dims == 0 || (X::type.is_sliced() && X::type.slice_dim == X::type.dims - 1)) {
        return refuse_with<rule::whole_row, message{} << "rows of " << X::type>{};
    } else {
        return x;
    }
}

/// Adds the parts that a reduction of a sliced value leaves on each rank.
template <class Sliced, class Part>
constexpr auto all_parts(Part part)
{
    if constexpr (refused_expression<Sliced> || refused_expression<Part>) {
        return part;
    } else if constexpr (Sliced::type.is_sliced()) {
        return all_reduce(sum, part);
    } else {
        return part;
    }
}

}  // namespace detail

/// max(x, 0)
template <expression X>
constexpr auto relu(X x) { return max(x, 0_c); }

/// x * (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel 2016, exact form)
template <expression X>
constexpr auto gelu(X x)
{
    auto w = detail::widened(x);
    return detail::narrowed<X>(w * 0.5_c * (1_c + erf(w * 0.707106781186548_c)));
}

/// x / (1 + exp(-x)), also called swish (Ramachandran et al. 2017)
template <expression X>
constexpr auto silu(X x)
{
    auto w = detail::widened(x);
    return detail::narrowed<X>(w / (1_c + exp(-w)));
}

/// The L2 norm over all elements of all ranks' slices: sqrt(sum(x * x)). Of a sliced value the parts are all_reduced;
/// of a local value it is each rank's own norm. f32 for f16 and bf16 values.
template <expression X>
constexpr auto norm(X x)
{
    auto w = detail::widened(x);
    return sqrt(detail::all_parts<X>(sum(w * w)));
}
/// The L2 norm of each tensor of a scattered or partitioned dimension: [N] -> one number per tensor.
template <expression X>
constexpr auto norm(X x, per_tensor_t)
{
    auto w = detail::widened(x);
    return sqrt(detail::all_parts<X>(sum(w * w, per_tensor)));
}

/// exp(x - max) / sum(exp(x - max)) along the last dimension
template <expression X>
constexpr auto softmax(X x)
{
    auto w = detail::whole_rows(detail::widened(x));
    auto e = exp(w - max(w, axis<-1>, keep_dims));
    return detail::narrowed<X>(e / sum(e, axis<-1>, keep_dims));
}

/// (x - mean) / sqrt(variance + eps) * gamma + beta along the last dimension (Ba et al. 2016); gamma and beta have the
/// row's extent.
template <expression X, expression Gamma, expression Beta, expression Eps>
constexpr auto layer_norm(X x, Gamma gamma, Beta beta, Eps eps)
{
    auto w = detail::whole_rows(detail::widened(x));
    auto centred = w - mean(w, axis<-1>, keep_dims);
    auto variance = mean(centred * centred, axis<-1>, keep_dims);
    return detail::narrowed<X>(centred * rsqrt(variance + eps) * detail::widened(gamma) + detail::widened(beta));
}

/// x / sqrt(mean(x * x) + eps) * gamma along the last dimension (Zhang and Sennrich 2019)
template <expression X, expression Gamma, expression Eps>
constexpr auto rms_norm(X x, Gamma gamma, Eps eps)
{
    auto w = detail::whole_rows(detail::widened(x));
    return detail::narrowed<X>(w * rsqrt(mean(w * w, axis<-1>, keep_dims) + eps) * detail::widened(gamma));
}

}  // namespace plait
