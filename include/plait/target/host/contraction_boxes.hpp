// Which parts of its operands a contraction needs for a part of its result.
#pragma once

#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/target/host/strided.hpp>

namespace plait::host {

/// c[..., M, N] = a[..., M, K] b[..., K, N]: the dimensions of a and b by their role, and the boxes of all three.
struct matmul_boxes {
    int a_row;
    int a_inner;
    int b_inner;
    int b_column;
    box out;
    box left;
    box right;

    matmul_boxes(const arguments& args, const node& n, const node& a, const node& b, const chunk& within)
        : a_row(a.dims - (n.attrs.a != 0 ? 1 : 2)),
          a_inner(a.dims - (n.attrs.a != 0 ? 2 : 1)),
          b_inner(b.dims - (n.attrs.b != 0 ? 1 : 2)),
          b_column(b.dims - (n.attrs.b != 0 ? 2 : 1)),
          out(box_of(args, n, within)),
          left(box_for(args, n, a, a_row, n.dims - 2, a_inner)),
          right(box_for(args, n, b, b_column, n.dims - 1, b_inner))
    {
    }

  private:
    /// The part of an operand whose dimension `own` is the result's dimension `result`. The inner dimension: all, or this
    /// rank's slice.
    [[nodiscard]] box box_for(const arguments& args, const node& n, const node& operand, int own, int result, int inner) const
    {
        box part = box_of(args, operand);
        for (int d = 0; d < operand.dims; ++d) {
            const int from = d == own ? result : d + n.dims - operand.dims;
            if (d == inner || operand.shape[d] == 1) { continue; }
            part.begin[d] = out.begin[from];
            part.count[d] = out.count[from];
        }
        return part;
    }
};

/// y[N, K, P, Q] = x[N, C, H, W] * w[K, C, R, S].
struct conv2d_boxes {
    box out;
    box images;
    box filters;

    conv2d_boxes(const arguments& args, const node& n, const node& x, const node& w, const chunk& within)
        : out(box_of(args, n, within)), images(box_of(args, x)), filters(box_of(args, w))
    {
        images.begin[0] = out.begin[0];
        images.count[0] = out.count[0];
        filters.begin[0] = out.begin[1];
        filters.count[0] = out.count[1];
    }
};

/// y[..., H] = table[V, H] at indices[...]: `rows` are those of the table that this rank holds.
struct embedding_boxes {
    box out;
    box rows;
    box which;

    embedding_boxes(const arguments& args, const node& n, const node& table, const node& indices, const chunk& within)
        : out(box_of(args, n, within)), rows(box_of(args, table)), which(box_of(args, indices))
    {
        rows.begin[1] = out.begin[n.dims - 1];
        rows.count[1] = out.count[n.dims - 1];
        for (int d = 0; d < indices.dims; ++d) {
            which.begin[d] = out.begin[d];
            which.count[d] = out.count[d];
        }
    }
};

}  // namespace plait::host
