#include "driver/runner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "driver/resources.h"

namespace forebay::bench {
namespace {

double reduce(double value, MPI_Op op, const Team& team) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, team.comm);
  return value;
}

// Names come from rank 0; a rank that did not see a phase counts as zero in it.
void reduce_phases(const Phases& phases, const Team& team, Record& record) {
  std::string names;
  for (const auto& [name, seconds] : phases.all()) names += name + '\n';
  auto length = static_cast<int>(names.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, team.comm);
  names.resize(static_cast<std::size_t>(length));
  MPI_Bcast(names.data(), length, MPI_CHAR, 0, team.comm);
  for (std::size_t from = 0; from < names.size();) {
    const std::size_t end = names.find('\n', from);
    const std::string name = names.substr(from, end - from);
    from = end + 1;
    double seconds = 0;
    for (const auto& [known, value] : phases.all()) {
      if (known == name) seconds = value;
    }
    record.add_phase(name, reduce(seconds, MPI_MAX, team));
  }
}

void remove_files(const Workload& workload, const std::string& path, const Team& team) {
  if (team.rank == 0) {
    for (const std::string& file : workload.files(path)) {
      ::unlink(file.c_str());
      std::error_code none;
      std::filesystem::remove_all(file + ".subfiles", none);  // of layout decomposed
    }
  }
  MPI_Barrier(team.comm);
}

template <typename Operation>
void measure(Operation operation, const Team& team, bool apart, Record& record,
             const std::string& die_after = {}) {
  Phases phases;
  const std::int64_t before = resident_now();
  reset_peak();
  phases.start(team.comm, apart, die_after);
  const double processor_before = processor_seconds();
  operation(phases);
  const double processor = processor_seconds() - processor_before;
  const std::int64_t peak = resident_peak();
  record.seconds.push_back(reduce(phases.total(), MPI_MAX, team));
  record.processor_seconds.push_back(reduce(processor, MPI_SUM, team));
  reduce_phases(phases, team, record);
  record.peak_rss = std::max(record.peak_rss, team.max(peak));
  record.library_rss = std::max(record.library_rss, team.max(peak - before));
}

Record new_record(const Workload& workload, const char* operation, const RunOptions& options,
                  const Team& team) {
  Record record;
  record.workload = workload.name();
  record.parameters = workload.parameters();
  record.backend = options.backend;
  record.operation = operation;
  record.ranks = team.size;
  record.amounts = workload.amounts();
  record.directory_kind = directory_kind(options.path);
  record.verified = options.verify;
  return record;
}

std::int64_t size_of_files(const Workload& workload, const std::string& path) {
  std::int64_t bytes = 0;
  for (const std::string& file : workload.files(path)) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0) bytes += static_cast<std::int64_t>(info.st_size);
  }
  return bytes;
}

}  // namespace

std::vector<Record> run(Workload& workload, const RunOptions& options, const Team& team) {
  Record written = new_record(workload, "write", options, team);
  Record read = new_record(workload, "read", options, team);
  const bool reading = options.read && workload.has_read();
  // A write is verified by reading it back, also when only writes are timed.
  const bool look = reading || (options.verify && workload.has_read());
  Record unused;
  for (int sample = 0; sample < options.repeat; ++sample) {
    remove_files(workload, options.path, team);
    workload.prepare_write();
    const auto write = [&](Phases& t) { workload.write(options.path, options.info, t); };
    measure(write, team, options.apart, options.write ? written : unused, options.die_after);
    written.file_bytes = read.file_bytes = size_of_files(workload, options.path);
    if (!look) continue;
    workload.prepare_read();
    const auto get = [&](Phases& t) { workload.read(options.path, options.info, t); };
    measure(get, team, options.apart, reading ? read : unused);
    if (!options.verify) continue;
    const std::int64_t wrong = team.sum(workload.verify());
    written.wrong_values += wrong;
    read.wrong_values += wrong;
  }
  MPI_Barrier(team.comm);
  if (!options.keep) remove_files(workload, options.path, team);
  std::vector<Record> records;
  if (options.write) records.push_back(std::move(written));
  if (reading) records.push_back(std::move(read));
  return records;
}

}  // namespace forebay::bench
