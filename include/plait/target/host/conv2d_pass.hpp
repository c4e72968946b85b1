// conv2d on the host: the windows of some output rows as a matrix, then a matrix product with the filters.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/graph/node.hpp>
#include <plait/target/host/box.hpp>
#include <plait/target/host/contraction_boxes.hpp>
#include <plait/target/host/pass_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace plait::host {

/// Elements of the matrix of windows that are made at once: they stay in the second-level cache.
inline constexpr std::int64_t window_elements = std::int64_t{1} << 17;

/// The elements of a value with all but its first dimension whole, as T.
template <class T>
const T* converted(const node& n, const std::byte* data, std::int64_t count, gemm_scratch& room)
{
    strided v;
    v.data = const_cast<std::byte*>(data);
    v.stride[0] = count;
    v.stride[1] = 1;
    box b;
    b.count[0] = 1;
    b.count[1] = count;
    return as_matrix<T>(n, v, 0, 1, b, room).data;
}

/// y[N, K, P, Q] = x[N, C, H, W] * w[K, C, R, S], of which this rank may have a slice of N or of K.
template <class T>
void run_conv2d(const pass_context& c)
{
    const node& n = c.node_at(c.pass.space);
    const node& x = c.node_at(c.operand(0).node);
    const node& w = c.node_at(c.operand(1).node);
    const int stride = n.attrs.a;
    const int padding = n.attrs.b;
    const std::int64_t channels = x.shape[1];
    const std::int64_t height = x.shape[2];
    const std::int64_t width = x.shape[3];
    const std::int64_t window_height = w.shape[2];
    const std::int64_t window_width = w.shape[3];
    const std::int64_t out_height = n.shape[2];
    const std::int64_t out_width = n.shape[3];
    const std::int64_t depth = channels * window_height * window_width;

    const conv2d_boxes boxes(c.args, n, x, w, c.within);
    const auto& [out, images, filters] = boxes;
    const strided from = in_slot(c.args, x, c.operand(0).slot, images);
    const strided with = in_slot(c.args, w, c.operand(1).slot, filters);
    const strided to = in_slot(c.args, n, c.result(0).slot, out);
    const std::int64_t image_size = channels * height * width;
    const std::int64_t held_filters = out.count[1];
    if (held_filters == 0) { return; }

    contraction_scratch& scratch = c.scratch.contraction;
    const T* weights = converted<T>(w, with.data, held_filters * depth, scratch.left);
    const std::int64_t rows_at_once =
        std::clamp<std::int64_t>(window_elements / std::max<std::int64_t>(1, depth * out_width), 1, out_height);
    scratch.windows.reserve(static_cast<std::size_t>(depth * rows_at_once * out_width) * sizeof(T));
    T* const windows = reinterpret_cast<T*>(scratch.windows.data());
    for (std::int64_t i = 0; i < out.count[0]; ++i) {
        const auto bytes = static_cast<std::int64_t>(size_of(x.type));
        const T* image = converted<T>(x, from.data + i * image_size * bytes, image_size, scratch.right);
        T* result = reinterpret_cast<T*>(to.data) + i * to.stride[0];
        for (std::int64_t p = 0; p < out_height; p += rows_at_once) {
            const std::int64_t rows = std::min(rows_at_once, out_height - p);
            T* window = windows;  // depth x (rows * out_width)
            for (std::int64_t d = 0; d < depth; ++d) {
                const std::int64_t s = d % window_width;
                const std::int64_t r = d / window_width % window_height;
                const T* plane = image + d / (window_width * window_height) * height * width;
                for (std::int64_t row = p; row < p + rows; ++row) {
                    const std::int64_t y = row * stride + r - padding;
                    for (std::int64_t q = 0; q < out_width; ++q) {
                        const std::int64_t at = q * stride + s - padding;
                        const bool inside = y >= 0 && y < height && at >= 0 && at < width;
                        *window++ = inside ? plane[y * width + at] : static_cast<T>(0.0F);
                    }
                }
            }
            gemm<T, T>(static_cast<std::size_t>(held_filters), static_cast<std::size_t>(rows * out_width),
                    static_cast<std::size_t>(depth), {weights, depth, 1},
                    {windows, rows * out_width, 1},
                    {result + p * out_width, out_height * out_width, 1}, scratch.panels);
        }
    }
    copy_results(c, n, out);
}

}  // namespace plait::host
