// Where the time went, from a report in JSON: a timeline of each rank, or bars of its steps where a
// report does not tell when they took place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/report.h"
#include "base/text_table.h"
#include "tools/plot_parts.h"
#include "tools/plot_timeline.h"

namespace forebay::tools {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_bars = 48;

// One bar: a rank, or the mean of several.
struct Bar {
  std::string name;
  std::map<std::string, double> seconds;  // of steps but `total`
  double total = 0;

  double told() const {
    double sum = 0;
    for (const auto& [step, value] : seconds) sum += value;
    return sum;
  }
};

struct Chart {
  std::vector<Bar> bars;
  std::vector<std::string> steps;  // longest first
  double longest = 0;
  Count ranks = 1;
  bool per_rank = false;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(Errc::enotnc, printable(path) + ": " + why, "make one with FOREBAY_REPORT=json:PATH");
}

double number(const Json& value) {
  return value.is_number() ? std::max(0.0, value.get<double>()) : 0;
}

// Bars of ranks, several to a bar where there are many.
void add_ranks(const Json& per_rank, Count ranks, Chart& chart) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t each = (n + most_bars - 1) / most_bars;
  for (std::size_t first = 0; first < n; first += each) {
    const std::size_t last = std::min(n, first + each);
    Bar bar;
    bar.name = last - first == 1 ? std::to_string(first) : fmt::format("{}-{}", first, last - 1);
    for (const auto& [step, list] : per_rank.items()) {
      if (!list.is_array() || list.size() != n) continue;
      double sum = 0;
      for (std::size_t rank = first; rank < last; ++rank) sum += number(list[rank]);
      sum /= static_cast<double>(last - first);
      (step == "total" ? bar.total : bar.seconds[step]) = sum;
    }
    chart.bars.push_back(std::move(bar));
  }
  chart.per_rank = true;
}

// Reports of more ranks than are told apart: least, mean and greatest of each step.
void add_statistics(const Json& steps, Chart& chart) {
  for (const char* which : {"min", "mean", "max"}) {
    Bar bar;
    bar.name = which;
    for (const auto& [step, values] : steps.items())
      if (values.is_object() && values.contains(which))
        (step == "total" ? bar.total : bar.seconds[step]) = number(values[which]);
    chart.bars.push_back(std::move(bar));
  }
}

Chart chart_of(const std::string& path, const Json& report) {
  Chart chart;
  const Json& steps = report["steps"];
  chart.ranks = std::clamp<Count>(report.value("ranks", Count{1}), 1, Count{1} << 30);
  const auto per_rank = report.find("per_rank");
  if (per_rank != report.end() && per_rank->is_object() && chart.ranks <= (1 << 20)) {
    add_ranks(*per_rank, chart.ranks, chart);
  } else {
    add_statistics(steps, chart);
  }
  std::map<std::string, double> sums;
  for (const Bar& bar : chart.bars) {
    for (const auto& [step, seconds] : bar.seconds) sums[step] += seconds;
    chart.longest = std::max({chart.longest, bar.total, bar.told()});
  }
  for (const auto& [step, sum] : sums)
    if (sum > 0) chart.steps.push_back(step);
  std::stable_sort(chart.steps.begin(), chart.steps.end(),
                   [&](const auto& a, const auto& b) { return sums[a] > sums[b]; });
  if (chart.longest <= 0) refuse(path, "no step took any time");
  return chart;
}

void draw_bars(Canvas& canvas, const Chart& chart, int height) {
  const auto n = static_cast<int>(chart.bars.size());
  const auto pixels = [&](double seconds) {
    return static_cast<int>(std::lround(seconds / chart.longest * picture_width));
  };
  Axes axes;
  for (int b = 0; b < n; ++b) {
    const Bar& bar = chart.bars[static_cast<std::size_t>(b)];
    const int top = top_margin + b * height / n + 2, tall = std::max(2, height / n - 4);
    double at = 0;
    for (const std::string& step : chart.steps) {
      const auto found = bar.seconds.find(step);
      if (found == bar.seconds.end()) continue;
      const int x = pixels(at), end = pixels(at + found->second);
      canvas.fill(left_margin + x, top, end - x, tall, step_colour(step));
      at += found->second;
    }
    if (bar.total > at)
      canvas.fill(left_margin + pixels(at), top, pixels(bar.total) - pixels(at), tall, rest_colour);
    if (n <= 16 || b % (n / 12) == 0) axes.y.push_back({(b + 0.5) / n, bar.name});
  }
  const double step = round_step(chart.longest, 8);
  for (double v = 0; v <= chart.longest * (1 + 1e-9); v += step)
    axes.x.push_back({v / chart.longest, number_label(v, step)});
  axes.x_name = "seconds";
  axes.y_name = chart.per_rank ? "rank" : "over all ranks";
  draw_axes(canvas, axes, height);
}

struct Legend {
  std::string label;
  Colour colour;
};

std::vector<Legend> legend_of(const Chart& chart) {
  std::vector<Legend> legend;
  double rest = 0;
  for (const std::string& step : chart.steps) {
    double sum = 0, most = 0;
    for (const Bar& bar : chart.bars) {
      const auto found = bar.seconds.find(step);
      if (found == bar.seconds.end()) continue;
      sum += found->second;
      most = std::max(most, found->second);
    }
    const double mean = sum / static_cast<double>(chart.bars.size());
    legend.push_back({chart.ranks == 1
                          ? fmt::format("{}: {:.3g} s", step, most)
                          : fmt::format("{}: mean {:.2g} s, max {:.2g} s", step, mean, most),
                      step_colour(step)});
  }
  for (const Bar& bar : chart.bars) rest += std::max(0.0, bar.total - bar.told());
  if (rest > 0)
    legend.push_back({fmt::format("between the steps: mean {:.2g} s",
                                  rest / static_cast<double>(chart.bars.size())),
                      rest_colour});
  return legend;
}

void draw_legend(Canvas& canvas, const std::vector<Legend>& legend, int top) {
  constexpr int columns = 3, row_height = 24;
  for (std::size_t i = 0; i < legend.size(); ++i) {
    const int x = left_margin + static_cast<int>(i % columns) * (picture_width / columns);
    const int y = top + static_cast<int>(i / columns) * row_height;
    canvas.fill(x, y, 16, 12, legend[i].colour);
    canvas.frame(x, y, 16, 12, line);
    canvas.text(x + 24, y + 1, shortened(legend[i].label, label_size, picture_width / columns - 30),
                ink, label_size);
  }
}

}  // namespace

std::vector<Json> read_reports(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(Errc::enoent, printable(path) + " cannot be read", "check the path");
  std::vector<Json> reports;
  for (std::string text; std::getline(file, text);) {
    if (text.empty()) continue;
    Json report = Json::parse(text, nullptr, false);
    if (!report.is_object() || !report.contains("steps") || !report["steps"].is_object())
      refuse(path, fmt::format("line {} is no report", reports.size() + 1));
    reports.push_back(std::move(report));
  }
  if (reports.empty()) refuse(path, "there is no report in it");
  return reports;
}

Canvas draw_report(const std::string& path, int entry, std::string& summary) {
  const std::vector<Json> reports = read_reports(path);
  const int n = static_cast<int>(reports.size());
  const int index = entry < 0 ? entry + n : entry;
  if (index < 0 || index >= n)
    throw Error(Errc::einvalcoords,
                fmt::format("{}: entry {} is not there", printable(path), entry),
                fmt::format("it has {}: accepted are 0 to {}, or -1 for the last", n, n - 1));
  const Json& report = reports[static_cast<std::size_t>(index)];
  const Chart chart = chart_of(path, report);
  const Json name = report.value("path", Json("?"));
  const std::string file = name.is_string() ? name.get<std::string>() : "?";
  const std::vector<Legend> legend = legend_of(chart);
  const Lanes lanes = lanes_of(report, most_bars);
  const bool timeline = !lanes.lanes.empty();
  const std::size_t rows = timeline ? lanes.lanes.size() : chart.bars.size();
  const int height = std::clamp(static_cast<int>(rows) * (timeline ? 40 : 28), 90, 560);
  const int legend_height = 24 * static_cast<int>((legend.size() + 2) / 3);
  Canvas canvas(left_margin + picture_width + right_margin,
                top_margin + height + 66 + legend_height + 16, paper);
  summary = fmt::format("{}: {:.3g} s on {} rank{}", file, timeline ? lanes.longest : chart.longest,
                        grouped(chart.ranks), chart.ranks == 1 ? "" : "s");
  const std::string which = n > 1 ? fmt::format("entry {} of {} in {}", index, n, path) : path;
  draw_heading(canvas, "Where the time went: " + summary, which);
  if (timeline) {
    draw_lanes(canvas, lanes, chart.steps, height);
  } else {
    draw_bars(canvas, chart, height);
  }
  draw_legend(canvas, legend, top_margin + height + 62);
  return canvas;
}

}  // namespace forebay::tools
