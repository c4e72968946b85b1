// One pass as a stage of a kernel that takes row after row.
#pragma once

#include <plait/target/cuda/line_sums.cuh>
#include <plait/target/cuda/map_kernel.cuh>
#include <plait/target/cuda/row_run.cuh>

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace plait::cuda {

/// Where an operand is from, and which line or value of the row it is; see row_source.
template <row_source From, int I>
struct row_operand {};
/// Which line or value a result is held as for later stages, or -1; and whether it is stored.
template <int I, bool Stored>
struct row_result {};

/// What a thread holds of a row: of each line its groups, of each reduction its result.
template <class T>
struct held_line {
    T v[line_turns][line_group];
};
template <class Lines, class Values>
struct held_row;
template <dtype... Line, dtype... Value>
struct held_row<std::integer_sequence<dtype, Line...>, std::integer_sequence<dtype, Value...>> {
    members<held_line<kernels::compute_t<Line>>...> lines;
    members<kernels::compute_t<Value>...> values;
};
/// What it holds for all rows, of operands that are the same in each.
template <dtype... Column>
using held_columns = members<held_line<kernels::compute_t<Column>>...>;

/// How much of its groups a thread has: all of each, in every turn; all or nothing; any number of elements.
enum class row_fill : std::uint8_t { all, whole_groups, any };

/// What the code for rows is made for: the number of ranks whose memory is touched, 0 for any; and the threads of a team, 0 if that
/// is not known before it runs.
template <int Ranks, row_fill Fill, int Team = 0>
struct row_form {
    static constexpr int ranks = Ranks;
    static constexpr row_fill fill = Fill;
    static constexpr int team = Team;
    static constexpr bool is_whole = Fill != row_fill::any;
};

/// Where a thread is: element `i` of the space, in 64 bits, so that what is a constant apart is one address and constants.
struct row_place {
    std::int64_t i;
    std::int64_t row;
    std::int64_t column;
};

/// A thread's group of one turn. Whole ones are loaded and stored at once.
template <class Form>
struct row_group {
    int turn = 0;
    int size = 0;
    std::int64_t first = 0;  // element of the space
    std::int64_t row = 0;
    std::int64_t column = 0;

    static constexpr bool is_whole = Form::is_whole;
    [[nodiscard]] __device__ bool has(int e) const { return is_whole || e < size; }
    [[nodiscard]] __device__ row_place at(int e) const { return {first + e, row, column + e}; }
};

template <auto First, auto...>
inline constexpr auto first_of = First;

template <class Body, class Operands, class Results>
struct row_stage;
template <class... Input, class... Step, class... Output, row_source... From, int... Held, int... Kept, bool... Stored>
struct row_stage<map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>,
                 kernels::list<row_operand<From, Held>...>, kernels::list<row_result<Kept, Stored>...>> {
    using body = map_body<kernels::list<Input...>, kernels::list<Step...>, kernels::list<Output...>>;
    using channels = typename body::channels;
    static constexpr bool has_peers = body::has_peers;
    /// A reduction has one output: what it is held as, and whether it is stored.
    static constexpr bool reduces = body::has_sums;
    using first_output = std::tuple_element_t<0, std::tuple<Output...>>;
    static constexpr int held_value = first_of<Kept...>;
    static constexpr bool stores_value = first_of<Stored...>;

    /// Where memory is that is read or written.
    template <int Ranks>
    struct cursors {
        members<typename detail::cursor_of<Input, reads_memory<From>, Ranks>::type...> in;
        members<typename detail::cursor_of<Output, Stored && !Output::is_sum, Ranks>::type...> out;

        __device__ static cursors open(const channels& c, const walk& w) { return open(c, w, inputs{}, outputs{}); }

      private:
        template <int... I, int... O>
        __device__ static cursors open(const channels& c, const walk& w, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
        {
            cursors k;
            (open_one<I, reads_memory<From>, Input>(k.in, c.in, w), ...);
            (open_one<O, Stored && !Output::is_sum, Output>(k.out, c.out, w), ...);
            return k;
        }
        template <int I, bool Opened, class Value, class Cursors, class Channels>
        __device__ static void open_one(Cursors& k, const Channels& c, const walk& w)
        {
            if constexpr (Opened) { get<I>(k) = Value::template open<Ranks, true>(get<I>(c), w, tile_range{}); }
        }
    };

    /// Loads a group of what is held for all rows.
    template <int Ranks, class Group, class Columns>
    __device__ static void load_columns(const channels& c, const walk& w, const cursors<Ranks>& k, const Group& g, Columns& columns)
    {
        load_columns(c, w, k, g, columns, inputs{});
    }
    /// Does a group: what is computed is held, stored, or added to `sum`.
    template <int Ranks, class Group, class Columns, class Row, class Sum>
    __device__ static void run(const channels& c, const walk& w, const cursors<Ranks>& k, const Group& g, const Columns& columns, Row& row, Sum& sum)
    {
        run(c, w, k, g, columns, row, sum, inputs{}, outputs{});
    }

  private:
    using inputs = std::make_integer_sequence<int, sizeof...(Input)>;
    using outputs = std::make_integer_sequence<int, sizeof...(Output)>;

    template <int Ranks, class Group, class Columns, int... I>
    __device__ static void load_columns(const channels& c, const walk& w, const cursors<Ranks>& k, const Group& g, Columns& columns,
                                        std::integer_sequence<int, I...>)
    {
        const auto one = [&]<int J, class In, row_source How, int At>(std::integral_constant<int, J>, std::type_identity<In>,
                                                                      std::integral_constant<row_source, How>, std::integral_constant<int, At>) {
            if constexpr (How == row_source::column) { In::template load<line_group>(get<J>(c.in), w, get<J>(k.in), g.at(0), get<At>(columns).v[g.turn]); }
        };
        (one(std::integral_constant<int, I>{}, std::type_identity<Input>{}, std::integral_constant<row_source, From>{}, std::integral_constant<int, Held>{}), ...);
    }
    template <int Ranks, class Group, class Columns, class Row, class Sum, int... I, int... O>
    __device__ static void run(const channels& c, const walk& w, const cursors<Ranks>& k, const Group& g, const Columns& columns, Row& row, Sum& sum,
                               std::integer_sequence<int, I...>, std::integer_sequence<int, O...>)
    {
        members<group_of<typename Input::value, line_group>...> loaded;
        (load<I, Input, From, Held>(c, w, k, g, columns, row, get<I>(loaded).v), ...);
        members<group_of<typename body::template value_at<Output::value>, line_group>...> results;
#pragma unroll
        for (int e = 0; e < line_group; ++e) {
            if (!g.has(e)) { continue; }
            typename body::registers r;
            ((kernels::at<static_cast<std::size_t>(I)>(r) = get<I>(loaded).v[e]), ...);
            body::steps::evaluate(c.constants, r);
            ((get<O>(results).v[e] = kernels::at<static_cast<std::size_t>(Output::value)>(r)), ...);
        }
        (put<O, Output, Kept, Stored>(c, w, k, g, row, sum, get<O>(results).v), ...);
    }

    template <int I, class In, row_source How, int At, class Cursors, class Group, class Columns, class Row>
    __device__ static void load(const channels& c, const walk& w, const Cursors& k, const Group& g, const Columns& columns, Row& row,
                                typename In::value (&to)[line_group])
    {
        if constexpr (How == row_source::reduced) {
#pragma unroll
            for (int e = 0; e < line_group; ++e) { to[e] = get<At>(row.values); }
        } else if constexpr (How == row_source::held) {
#pragma unroll
            for (int e = 0; e < line_group; ++e) {
                if (g.has(e)) { to[e] = get<At>(row.lines).v[g.turn][e]; }
            }
        } else if constexpr (Group::is_whole && How == row_source::column) {
#pragma unroll
            for (int e = 0; e < line_group; ++e) { to[e] = get<At>(columns).v[g.turn][e]; }
        } else if constexpr (Group::is_whole) {
            In::template load<line_group>(get<I>(c.in), w, get<I>(k.in), g.at(0), to);
        } else {
#pragma unroll
            for (int e = 0; e < line_group; ++e) {
                if (!g.has(e)) { continue; }
                typename In::value one[1];
                In::template load<1>(get<I>(c.in), w, get<I>(k.in), g.at(e), one);
                to[e] = one[0];
            }
        }
        if constexpr (How == row_source::kept) { hold<At>(g, row, to); }
    }
    template <int At, class Group, class Row, class T>
    __device__ static void hold(const Group& g, Row& row, const T (&x)[line_group])
    {
#pragma unroll
        for (int e = 0; e < line_group; ++e) {
            if (g.has(e)) { get<At>(row.lines).v[g.turn][e] = x[e]; }
        }
    }
    template <int O, class Out, int At, bool IsStored, class Cursors, class Group, class Row, class Sum, class T>
    __device__ static void put(const channels& c, const walk& w, const Cursors& k, const Group& g, Row& row, Sum& sum, const T (&x)[line_group])
    {
        if constexpr (Out::is_sum) {
            auto group = line_sum<Out>::nothing_yet();
#pragma unroll
            for (int e = 0; e < line_group; ++e) {
                if (g.has(e)) { group = line_sum<Out>::add_element(group, x[e]); }
            }
            sum = line_sum<Out>::add(sum, group);
        } else {
            if constexpr (IsStored) { store<O, Out>(c, w, k, g, x); }
            if constexpr (At >= 0) { hold<At>(g, row, as_read_again<Out::type>(g, x).v); }
        }
    }
    template <int O, class Out, class Cursors, class Group, class T>
    __device__ static void store(const channels& c, const walk& w, const Cursors& k, const Group& g, const T (&x)[line_group])
    {
        if constexpr (Group::is_whole) {
            Out::template store<line_group>(get<O>(c.out), w, get<O>(k.out), g.at(0), x);
        } else {
#pragma unroll
            for (int e = 0; e < line_group; ++e) {
                if (!g.has(e)) { continue; }
                const T one[1] = {x[e]};
                Out::template store<1>(get<O>(c.out), w, get<O>(k.out), g.at(e), one);
            }
        }
    }
    /// What would be loaded after x was stored.
    template <dtype D, class Group, class T>
    __device__ static auto as_read_again(const Group& g, const T (&x)[line_group])
    {
        group_of<kernels::compute_t<D>, line_group> y;
        if constexpr (Group::is_whole) {
            const auto all = stored_packet<D>(x);
#pragma unroll
            for (int e = 0; e < line_group; ++e) { y.v[e] = computed<D>(all.element[e]); }
        } else {
#pragma unroll
            for (int e = 0; e < line_group; ++e) {
                if (g.has(e)) { y.v[e] = computed<D>(as_stored<D>(x[e])); }
            }
        }
        return y;
    }
};

}  // namespace plait::cuda
