// Prints what FOREBAY_REPORT asks for when a file is closed: times, bytes and calls, and the method
// with the reasons for it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/report.h"
#include "comm/agree.h"
#include "comm/comm.h"
#include "layout/layout.h"
#include "method/method.h"

namespace forebay {

/// Minimum, maximum and sum over ranks of each of their numbers.
struct ReportSummary {
  int ranks = 1;
  Report min, max, sum;
  /// Of every rank, if requested and if there are at most most_ranks_told ranks.
  std::vector<std::array<double, step_count>> seconds_of_rank;
  /// Of ranks 0, n, 2n… with n = timeline_stride(ranks), if requested and kept.
  std::vector<std::vector<TimeSpan>> timelines;
};
constexpr int most_ranks_told = 4096;

/// Timelines of at most 1024 evenly chosen ranks are kept, with about 32,000 spans in all.
constexpr int most_timelines = 1024;
constexpr int timeline_stride(int ranks) { return (ranks + most_timelines - 1) / most_timelines; }

/// Starts the timeline of steps if the report goes to a file as JSON. The decision is the same on
/// every rank of `comm`.
void start_timeline(const Comm& comm, const Method& method, Report& report,
                    Timeline::Clock::time_point opened = Timeline::Clock::now());

/// Collective. The result is valid on rank 0. `each_rank` (the same on all ranks) adds the seconds
/// of every rank, 128 bytes each, and timelines, at most 1.5 MiB in all.
ReportSummary summarize(const Comm& comm, const Report& report, bool each_rank = false);

/// Returns the table for people: several lines, the last one ended. It omits steps that took no
/// time on any rank.
std::string report_table(const std::string& path, const ReportSummary& summary,
                         const Method& method, const std::vector<std::string>& reasons);

/// Returns one JSON object in one line, ended: path, ranks, steps {min, mean, max}, counters {min,
/// mean, max, sum}, ratio {write, read} (bytes asked for ÷ bytes moved; null without any), method
/// {key: {value, origin}}, reasons. If known, it also has per_rank {step: seconds of every rank}
/// for steps that took time, timeline, and chunk_owners {variable: the rank of every chunk}. See
/// docs/formats.md.
std::string report_json(const std::string& path, const ReportSummary& summary, const Method& method,
                        const std::vector<std::string>& reasons, const NamedOwners& owners = {});

/// Collective if method.report (the same on every rank, see MethodSources) asks for a report;
/// otherwise does nothing. Rank 0's `owners` count; rank 0 prints to stderr or appends to the file.
/// A report that cannot be written is mentioned on stderr, because it must not make a close fail.
void print_report(const Comm& comm, const std::string& path, const Report& report,
                  const Method& method, const std::vector<std::string>& reasons,
                  const NamedOwners& owners = {});

/// Local. Appends a line to the file that Method::report names, as print_report() does. Does
/// nothing if no JSON is wanted.
void append_to_report(const std::string& report, const std::string& line);

/// Collective: the end of a close. Notes the seconds since `opened` and prints the report, if one
/// is wanted, with the list that reasons() returns. Throws on all ranks if any rank has `failed`,
/// or fails here.
template <typename F>
void end_with_report(const Comm& comm, const std::string& path, Report& report,
                     const Method& method, Timeline::Clock::time_point opened, F&& reasons,
                     std::optional<Error> failed = {}) {
  report[Step::total] = seconds_since(opened);
  attempt_into(failed, [&] { print_report(comm, path, report, method, reasons()); });
  agree_on_error(comm, failed);
}

}  // namespace forebay
