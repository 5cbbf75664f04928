#include "driver/report.h"

#include <sys/statfs.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace forebay::bench {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr long kTmpfsMagic = 0x01021994;
constexpr long kRamfsMagic = 0x858458f6;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

std::string line(const char* format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

void Record::add_phase(const std::string& name, double phase_seconds) {
  for (auto& [known, samples] : phases) {
    if (known == name) {
      samples.push_back(phase_seconds);
      return;
    }
  }
  phases.push_back({name, {phase_seconds}});
}

double Record::median() const { return median_of(seconds); }

std::string directory_kind(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string dir = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct statfs info {};
  if (::statfs(dir.c_str(), &info) != 0) return "unknown";
  const auto magic = static_cast<long>(info.f_type);
  return magic == kTmpfsMagic || magic == kRamfsMagic ? "memory" : "disk";
}

nlohmann::json to_json(const Record& record, const std::string& command) {
  nlohmann::json phases = nlohmann::json::object();
  for (const auto& [name, samples] : record.phases) phases[name] = samples;
  return {{"workload", record.workload},
          {"parameters", record.parameters},
          {"backend", record.backend},
          {"operation", record.operation},
          {"ranks", record.ranks},
          {"bytes", record.amounts.bytes},
          {"pieces", record.amounts.pieces},
          {"requests", record.amounts.requests},
          {"file_bytes", record.file_bytes},
          {"seconds", record.seconds},
          {"median", record.median()},
          {"processor_seconds", record.processor_seconds},
          {"phases", phases},
          {"directory_kind", record.directory_kind},
          {"peak_rss", record.peak_rss},
          {"own_data_bytes", record.amounts.own_data_bytes},
          {"library_rss", record.library_rss},
          {"verified", record.verified},
          {"wrong_values", record.wrong_values},
          {"command", command}};
}

std::string to_table(const std::vector<Record>& records) {
  if (records.empty()) return "nothing was measured\n";
  const Record& first = records.front();
  std::ostringstream out;
  out << first.workload << " " << first.parameters.dump() << "\n"
      << first.backend << ", " << first.ranks << " ranks, " << first.directory_kind << ", "
      << line("%.2f MiB", static_cast<double>(first.amounts.bytes) / kMiB) << ", "
      << first.amounts.pieces << " pieces in " << first.amounts.requests << " requests, "
      << line("file %.2f MiB\n", static_cast<double>(first.file_bytes) / kMiB);
  for (const Record& r : records) {
    const double median = r.median();
    out << line("  %-6s %9.4f s  %8.1f MiB/s  ", r.operation.c_str(), median,
                median > 0 ? static_cast<double>(r.amounts.bytes) / kMiB / median : 0.0);
    for (const auto& [name, samples] : r.phases) {
      out << " " << name << line(" %.4f", median_of(samples));
    }
    out << line("   processor %.3f", median_of(r.processor_seconds));
    out << line("   memory +%.1f MiB (data %.1f, peak %.1f)  ",
                static_cast<double>(r.library_rss) / kMiB,
                static_cast<double>(r.amounts.own_data_bytes) / kMiB,
                static_cast<double>(r.peak_rss) / kMiB);
    if (r.verified) {
      out << (r.wrong_values == 0 ? "values right"
                                  : std::to_string(r.wrong_values) + " VALUES WRONG");
    } else {
      out << "values not checked";
    }
    out << "\n    samples:";
    for (double s : r.seconds) out << line(" %.4f", s);
    out << "\n";
  }
  return out.str();
}

void append_json(const std::string& path, const std::vector<nlohmann::json>& objects) {
  nlohmann::json list = nlohmann::json::array();
  if (std::ifstream in(path); in && in.peek() != std::ifstream::traits_type::eof()) {
    list = nlohmann::json::parse(in, nullptr, false);
    if (!list.is_array()) throw std::runtime_error(path + " holds no JSON list to append to");
  }
  for (const nlohmann::json& object : objects) list.push_back(object);
  std::ofstream out(path);
  out << list.dump(1) << "\n";
  if (!out) throw std::runtime_error("cannot write " + path);
}

}  // namespace forebay::bench
