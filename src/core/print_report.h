// What FOREBAY_REPORT asks for when a file is closed: where the time went, bytes and calls, and the
// method with the reasons for it.
#pragma once

#include <string>
#include <vector>

#include "base/report.h"
#include "comm/comm.h"
#include "core/method.h"

namespace forebay {

/// Least, greatest and sum over ranks of one rank's numbers each.
struct ReportSummary {
  int ranks = 1;
  Report min, max, sum;
};

/// Collective. The result holds on rank 0.
ReportSummary summarize(const Comm& comm, const Report& report);

/// The table for people: several lines, the last one ended. Steps that took no time on any rank are
/// left out.
std::string report_table(const std::string& path, const ReportSummary& summary,
                         const Method& method, const std::vector<std::string>& reasons);

/// One JSON object in one line, ended: path, ranks, steps {min, mean, max}, counters {min, mean,
/// max, sum}, ratio {write, read} (bytes asked for ÷ bytes moved; null without any), method {key:
/// {value, origin}}, reasons.
std::string report_json(const std::string& path, const ReportSummary& summary, const Method& method,
                        const std::vector<std::string>& reasons);

/// Collective, if method.report (the same on every rank, see MethodSources) asks for a report;
/// nothing otherwise. Rank 0 prints to stderr or appends to the file. A report that cannot be
/// written is told on stderr: it must not make a close fail.
void print_report(const Comm& comm, const std::string& path, const Report& report,
                  const Method& method, const std::vector<std::string>& reasons);

}  // namespace forebay
