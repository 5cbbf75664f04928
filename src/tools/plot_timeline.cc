#include "tools/plot_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/step.h"
#include "base/types.h"

namespace forebay::tools {
namespace {

using Json = nlohmann::json;

struct Span {
  std::string step;
  double begin, end, busy;
};

constexpr Count most_ranks = 1 << 20;

// Places of what is drawn among the columns that the report names; none if one is missing.
std::optional<std::array<std::size_t, 4>> places_of(const Json& columns) {
  std::array<std::size_t, 4> places{};
  const char* const wanted[] = {"step", "begin", "end", "busy"};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto found = std::find(columns.begin(), columns.end(), Json(wanted[i]));
    if (!columns.is_array() || found == columns.end()) return std::nullopt;
    places[i] = static_cast<std::size_t>(found - columns.begin());
  }
  return places;
}

// Spans that make no sense are left out.
std::vector<Span> spans_of(const Json& list, const std::array<std::size_t, 4>& places) {
  std::vector<Span> spans;
  if (!list.is_array()) return spans;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() <= *std::max_element(places.begin(), places.end()))
      continue;
    const Json& step = item[places[0]];
    double numbers[3] = {-1, -1, -1};
    for (std::size_t i = 0; i < 3; ++i)
      if (item[places[i + 1]].is_number()) numbers[i] = item[places[i + 1]].get<double>();
    const auto [begin, end, busy] = numbers;
    if (step.is_string() && begin >= 0 && end >= begin && busy >= 0 && std::isfinite(end))
      spans.push_back({step.get<std::string>(), begin, end, std::min(busy, end - begin)});
  }
  return spans;
}

// Seconds from opening to closing of one rank.
double total_of(const Json& report, std::size_t rank) {
  const Json* found = nullptr;
  const auto per_rank = report.find("per_rank");
  if (per_rank != report.end() && per_rank->is_object() && per_rank->contains("total")) {
    const Json& totals = (*per_rank)["total"];
    if (totals.is_array() && rank < totals.size()) found = &totals[rank];
  } else if (const Json& steps = report["steps"]; steps.contains("total")) {
    if (steps["total"].is_object() && steps["total"].contains("max"))
      found = &steps["total"]["max"];
  }
  if (found == nullptr || !found->is_number()) return 0;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::max(value, 0.0) : 0;
}

// Adds a span to the columns that it covers, each by its part.
void add(const Span& span, double longest, double weight, Lane& lane) {
  std::vector<float>& shares = lane.shares[span.step];
  shares.resize(picture_width);
  const double scale = picture_width / longest;
  const double from = span.begin * scale, to = span.end * scale;
  const double density = to > from ? span.busy * scale / (to - from) : 0;
  for (int x = static_cast<int>(from); x < picture_width && x < to; ++x) {
    const double covered = std::min(to, x + 1.0) - std::max(from, static_cast<double>(x));
    shares[static_cast<std::size_t>(x)] += static_cast<float>(covered * density * weight);
  }
}

void draw_column(Canvas& canvas, const Lane& lane, const std::vector<std::string>& steps,
                 std::size_t column, int top, int tall) {
  double sum = 0;
  for (const auto& [step, shares] : lane.shares) sum += shares[column];
  // Steps of several threads at once, or joined spans, can be more than the time there was.
  const double scale = tall / std::max(sum, 1.0);
  const int x = left_margin + static_cast<int>(column);
  double at = 0;
  for (const std::string& step : steps) {
    const auto found = lane.shares.find(step);
    if (found == lane.shares.end()) continue;
    const int y = static_cast<int>(std::lround(at * scale));
    at += found->second[column];
    const int end = static_cast<int>(std::lround(at * scale));
    if (end > y) canvas.fill(x, top + y, 1, end - y, step_colour(step));
  }
}

}  // namespace

Colour step_colour(const std::string& step) {
  for (int i = 0; i < step_count; ++i)
    if (step == step_names[i]) return colour_of_kind(static_cast<std::size_t>(i));
  return colour_of_kind(step.size());
}

Lanes lanes_of(const Json& report, std::size_t most) {
  Lanes lanes;
  const auto timeline = report.find("timeline");
  if (timeline == report.end() || !timeline->is_object()) return lanes;
  const auto places = places_of(timeline->value("columns", Json()));
  const Json ranks = timeline->value("ranks", Json());
  const Json every = timeline->value("every", Json(1));
  if (!places || !ranks.is_array() || ranks.size() > static_cast<std::size_t>(most_ranks))
    return lanes;
  const std::size_t n = ranks.size(), each = (n + most - 1) / most;
  const auto stride =
      every.is_number_integer() ? std::clamp<Count>(every.get<Count>(), 1, most_ranks) : 1;
  std::vector<std::vector<Span>> spans;
  for (std::size_t i = 0; i < n; ++i) {
    lanes.longest = std::max(lanes.longest, total_of(report, i * static_cast<std::size_t>(stride)));
    spans.push_back(spans_of(ranks[i], *places));
    for (const Span& span : spans.back()) lanes.longest = std::max(lanes.longest, span.end);
  }
  const bool empty =
      std::all_of(spans.begin(), spans.end(), [](const auto& s) { return s.empty(); });
  if (empty || lanes.longest <= 0) return lanes;
  for (std::size_t first = 0; first < n; first += each) {
    const std::size_t last = std::min(n, first + each);
    const auto rank = [&](std::size_t i) { return i * static_cast<std::size_t>(stride); };
    Lane lane;
    lane.name = last - first == 1 ? std::to_string(rank(first))
                                  : fmt::format("{}-{}", rank(first), rank(last - 1));
    for (std::size_t i = first; i < last; ++i) {
      lane.end = std::max(lane.end, total_of(report, rank(i)));
      for (const Span& span : spans[i]) {
        lane.end = std::max(lane.end, span.end);
        add(span, lanes.longest, 1.0 / static_cast<double>(last - first), lane);
      }
    }
    lanes.lanes.push_back(std::move(lane));
  }
  return lanes;
}

void draw_lanes(Canvas& canvas, const Lanes& lanes, const std::vector<std::string>& steps,
                int height) {
  const auto n = static_cast<int>(lanes.lanes.size());
  Axes axes;
  for (int i = 0; i < n; ++i) {
    const Lane& lane = lanes.lanes[static_cast<std::size_t>(i)];
    const int top = top_margin + i * height / n + 2, tall = std::max(2, height / n - 4);
    const auto end = static_cast<int>(std::lround(lane.end / lanes.longest * picture_width));
    canvas.fill(left_margin, top, end, tall, rest_colour);
    for (std::size_t x = 0; x < picture_width; ++x) draw_column(canvas, lane, steps, x, top, tall);
    if (n <= 16 || i % (n / 12) == 0) axes.y.push_back({(i + 0.5) / n, lane.name});
  }
  const double step = round_step(lanes.longest, 8);
  for (double v = 0; v <= lanes.longest * (1 + 1e-9); v += step)
    axes.x.push_back({v / lanes.longest, number_label(v, step)});
  axes.x_name = "seconds since the file was opened";
  axes.y_name = "rank";
  draw_axes(canvas, axes, height);
}

}  // namespace forebay::tools
