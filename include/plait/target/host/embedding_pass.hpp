// embedding on the host: copies rows of a table.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/target/host/box.hpp>
#include <plait/target/host/contraction_boxes.hpp>
#include <plait/target/host/pass_context.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait::host {

namespace detail {

inline std::int64_t integer_at(dtype type, const std::byte* data, std::int64_t i)
{
    switch (type) {
    case dtype::u8: return reinterpret_cast<const std::uint8_t*>(data)[i];
    case dtype::i32: return reinterpret_cast<const std::int32_t*>(data)[i];
    default: return reinterpret_cast<const std::int64_t*>(data)[i];
    }
}

}  // namespace detail

/// y[..., H] = table[V, H] at indices[...]. Rows of which another rank has the slice are zeros here.
/// @throws plait::error if an index is not in [0, V), before this pass, or this chunk of it, writes anything.
inline void run_embedding(const pass_context& c)
{
    const node& n = c.node_at(c.pass.space);
    const node& table = c.node_at(c.operand(0).node);
    const node& indices = c.node_at(c.operand(1).node);
    const int column = n.dims - 1;
    const embedding_boxes boxes(c.args, n, table, indices, c.within);
    const auto& [out, rows, which] = boxes;
    const strided from = in_slot(c.args, table, c.operand(0).slot, rows);
    const strided to = in_slot(c.args, n, c.result(0).slot, out);
    const std::int64_t vocabulary = c.args.extent_of(table.shape[0]);
    const auto size = static_cast<std::int64_t>(size_of(n.type));
    const view<const piece> pieces = c.args.buffer(c.operand(1).slot).pieces;
    const strided at_indices = pieces.empty() ? in_slot(c.args, indices, c.operand(1).slot, which) : strided{};

    const auto index_at = [&](const std::int64_t* at) {
        if (!pieces.empty()) {  // one dimension, in separate buffers
            std::int64_t i = which.begin[0] + at[0];
            std::size_t p = 0;
            for (; i >= pieces[p].count; ++p) { i -= pieces[p].count; }
            return detail::integer_at(indices.type, static_cast<const std::byte*>(pieces[p].data), i);
        }
        return detail::integer_at(indices.type, at_indices.data, at_indices.offset(at, indices.dims));
    };
    const auto for_each_row = [&](auto&& use) {
        for_each_index(column, out.count,
                       [&](const std::int64_t* at) { use(index_at(at), to.offset(at, column)); });
    };
    for_each_row([&](std::int64_t i, std::int64_t) {
        if (i >= 0 && i < vocabulary) { return; }
        throw error({"program \"", c.args.image().name, "\": embedding: an index is ", i, ", the table has ", vocabulary,
                     " rows; indices must lie in [0, ", vocabulary, ")"});
    });
    for_each_row([&](std::int64_t i, std::int64_t offset) {
        std::byte* row = to.data + offset * size;
        const auto bytes = static_cast<std::size_t>(out.count[column] * size);
        const std::int64_t mine = i - rows.begin[0];
        if (bytes == 0) { return; }
        if (mine >= 0 && mine < rows.count[0]) {
            std::memcpy(row, from.data + mine * from.stride[0] * size, bytes);
        } else {
            std::memset(row, 0, bytes);
        }
    });
    copy_results(c, n, out);
}

}  // namespace plait::host
