// Everything to look at programs and runs with: pictures of graphs, traces of all ranks, timelines.
#pragma once

#include <plait/plan/dot.hpp>
#include <plait/plan/graph_svg.hpp>
#include <plait/run/chrome_json.hpp>
#include <plait/run/explain.hpp>
#include <plait/run/gather.hpp>
#include <plait/run/select_run.hpp>
#include <plait/run/timeline.hpp>
#include <plait/run/trace.hpp>
