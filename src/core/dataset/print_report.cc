#include "dataset/print_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "base/append_report.h"
#include "method/method_values.h"

namespace forebay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view json_prefix = "json:";

std::int64_t total(const ReportSummary& summary, Counter counter) {
  return summary.sum.counters[static_cast<std::size_t>(counter)];
}

// Bytes asked for by the program ÷ bytes moved by system calls. It is below 1 if holes are read or
// windows rewritten, and above 1 if a codec saves space.
std::optional<double> ratio(std::int64_t asked, std::int64_t moved) {
  if (asked <= 0 || moved <= 0) return std::nullopt;
  return static_cast<double>(asked) / static_cast<double>(moved);
}

std::string traffic_line(const ReportSummary& summary, const char* verb, Counter asked,
                         Counter moved, Counter calls) {
  const std::int64_t in = total(summary, asked), out = total(summary, moved);
  if (in == 0 && out == 0) return "";
  const auto quotient = ratio(in, out);
  return fmt::format("  {:<6} {:>10} asked, {:>10} moved in {} system call{}{}\n", verb,
                     friendly_size(in), friendly_size(out), total(summary, calls),
                     total(summary, calls) == 1 ? "" : "s",
                     quotient ? fmt::format(", ratio {:.3g}", *quotient) : "");
}

void append_method(std::string& text, const Method& method) {
  constexpr std::string_view always[] = {"transport", "layout", "stage", "codec"};
  std::vector<std::string> keys(std::begin(always), std::end(always));
  for (const MethodKey& key : method_keys()) {
    const bool listed = std::find(keys.begin(), keys.end(), key.name) != keys.end();
    if (!listed && method.origin.contains(key.name)) keys.emplace_back(key.name);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string setting = keys[i] + "=" + shown_method_value(method, keys[i]);
    text += fmt::format("  {:<6} {:<32} {}\n", i == 0 ? "method" : "", setting,
                        method.origin_of(keys[i]));
  }
}

constexpr std::size_t most_spans = 32 << 10, most_spans_of_rank = 512;

std::vector<std::vector<TimeSpan>> gather_timelines(const Comm& comm, const Report& report) {
  std::vector<std::vector<TimeSpan>> timelines;
  const int stride = timeline_stride(comm.size());
  std::span<const TimeSpan> mine;
  if (report.timeline && comm.rank() % stride == 0) mine = report.timeline->spans();
  const auto bytes = std::as_bytes(mine);
  const auto sizes = comm.all_gather(static_cast<std::int64_t>(bytes.size()));
  const auto all = comm.all_gather_known(bytes, sizes);
  if (all.empty()) return timelines;
  const std::byte* from = all.data();
  for (std::size_t rank = 0; rank < sizes.size(); rank += static_cast<std::size_t>(stride)) {
    const auto size = static_cast<std::size_t>(sizes[rank]);
    timelines.emplace_back(size / sizeof(TimeSpan));
    if (size > 0) std::memcpy(timelines.back().data(), from, size);
    from += size;
  }
  return timelines;
}

Json timeline_json(const ReportSummary& summary) {
  // A tenth of a microsecond is as exact as clocks are, and keeps files small.
  const auto seconds = [](double value) { return std::round(value * 1e7) / 1e7; };
  Json ranks = Json::array();
  for (const auto& spans : summary.timelines) {
    Json list = Json::array();
    for (const TimeSpan& span : spans)
      list.push_back({step_names[static_cast<std::size_t>(span.step)], seconds(span.begin),
                      seconds(span.end), seconds(span.busy), span.bytes, span.times});
    ranks.push_back(std::move(list));
  }
  return {{"columns", {"step", "begin", "end", "busy", "bytes", "times"}},
          {"every", timeline_stride(summary.ranks)},
          {"ranks", std::move(ranks)}};
}

}  // namespace

void start_timeline(const Comm& comm, const Method& method, Report& report,
                    Timeline::Clock::time_point opened) {
  if (!method.wants_json_report()) return;
  const auto told = static_cast<std::size_t>(std::min(comm.size(), most_timelines));
  report.timeline = std::make_shared<Timeline>(
      std::clamp(most_spans / told, Timeline::least_limit, most_spans_of_rank), opened);
}

ReportSummary summarize(const Comm& comm, const Report& report, bool each_rank) {
  ReportSummary summary{comm.size(), report, report, report, {}, {}};
  if (each_rank) summary.timelines = gather_timelines(comm, report);
  if (each_rank && comm.size() <= most_ranks_told) {
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(comm.size()),
                                          sizeof report.seconds);
    const auto all = comm.all_gather_known(std::as_bytes(std::span(report.seconds)), sizes);
    summary.seconds_of_rank.resize(static_cast<std::size_t>(comm.size()));
    std::memcpy(summary.seconds_of_rank.data(), all.data(), all.size());
  }
  comm.reduce_seconds(summary.min.seconds, summary.max.seconds, summary.sum.seconds);
  comm.all_reduce_stats(summary.min.counters, summary.max.counters, summary.sum.counters);
  return summary;
}

std::string report_table(const std::string& path, const ReportSummary& summary,
                         const Method& method, const std::vector<std::string>& reasons) {
  std::string text =
      fmt::format("forebay: {}, {} rank{}\n", path, summary.ranks, summary.ranks == 1 ? "" : "s");
  text += fmt::format("  {:<10} {:>10} {:>10} {:>10}\n", "seconds", "min", "mean", "max");
  for (std::size_t step = 0; step < step_count; ++step) {
    if (summary.max.seconds[step] <= 0) continue;
    text += fmt::format("  {:<10} {:>10.6f} {:>10.6f} {:>10.6f}\n", step_names[step],
                        summary.min.seconds[step], summary.sum.seconds[step] / summary.ranks,
                        summary.max.seconds[step]);
  }
  text += fmt::format("  {} requests in {} pieces", total(summary, Counter::requests),
                      total(summary, Counter::pieces));
  if (total(summary, Counter::messages) > 0) {
    text += fmt::format(", {} messages of {} in all", total(summary, Counter::messages),
                        friendly_size(total(summary, Counter::message_bytes)));
  }
  if (total(summary, Counter::windows) > 0) {
    text += fmt::format(", {} windows", total(summary, Counter::windows));
  }
  text += '\n';
  text += traffic_line(summary, "write", Counter::bytes_asked_write, Counter::bytes_written,
                       Counter::write_calls);
  text += traffic_line(summary, "read", Counter::bytes_asked_read, Counter::bytes_read,
                       Counter::read_calls);
  append_method(text, method);
  const auto lines = [&](const char* title, const std::vector<std::string>& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      text += fmt::format("  {:<6} {}\n", i == 0 ? title : "", all[i]);
  };
  lines("why", reasons);
  lines("note", method.notes);
  return text;
}

std::string report_json(const std::string& path, const ReportSummary& summary, const Method& method,
                        const std::vector<std::string>& reasons, const NamedOwners& owners) {
  Json json = {{"path", path}, {"ranks", summary.ranks}};
  for (std::size_t i = 0; i < step_count; ++i) {
    json["steps"][step_names[i]] = {{"min", summary.min.seconds[i]},
                                    {"mean", summary.sum.seconds[i] / summary.ranks},
                                    {"max", summary.max.seconds[i]}};
  }
  for (std::size_t i = 0; i < counter_count; ++i) {
    json["counters"][counter_names[i]] = {
        {"min", summary.min.counters[i]},
        {"mean", static_cast<double>(summary.sum.counters[i]) / summary.ranks},
        {"max", summary.max.counters[i]},
        {"sum", summary.sum.counters[i]}};
  }
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  json["ratio"]["write"] = number(
      ratio(total(summary, Counter::bytes_asked_write), total(summary, Counter::bytes_written)));
  json["ratio"]["read"] =
      number(ratio(total(summary, Counter::bytes_asked_read), total(summary, Counter::bytes_read)));
  for (const MethodKey& key : method_keys()) {
    json["method"][key.name] = {{"value", method_value(method, key.name)},
                                {"origin", method.origin_of(key.name)}};
  }
  json["reasons"] = reasons;
  json["notes"] = method.notes;
  for (std::size_t i = 0; i < step_count && !summary.seconds_of_rank.empty(); ++i) {
    if (summary.max.seconds[i] <= 0) continue;
    Json& list = json["per_rank"][step_names[i]] = Json::array();
    for (const auto& seconds : summary.seconds_of_rank) list.push_back(seconds[i]);
  }
  if (!summary.timelines.empty()) json["timeline"] = timeline_json(summary);
  for (const auto& [name, ranks] : owners) json["chunk_owners"][name] = ranks;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void append_to_report(const std::string& report, const std::string& line) {
  if (report.starts_with(json_prefix)) append_report(report.substr(json_prefix.size()), line);
}

void print_report(const Comm& comm, const std::string& path, const Report& report,
                  const Method& method, const std::vector<std::string>& reasons,
                  const NamedOwners& owners) {
  if (method.report.empty()) return;
  const bool as_json = method.wants_json_report();
  const ReportSummary summary = summarize(comm, report, as_json);
  if (!comm.is_root()) return;
  if (as_json) {
    append_report(method.report.substr(json_prefix.size()),
                  report_json(path, summary, method, reasons, owners));
  } else {
    const std::string table = report_table(path, summary, method, reasons);
    std::fwrite(table.data(), 1, table.size(), stderr);
  }
}

}  // namespace forebay
