#include "workloads/workload_series.h"

namespace forebay::bench {

SeriesWorkload::SeriesWorkload(std::string name, std::vector<Part> parts)
    : name_(std::move(name)), parts_(std::move(parts)) {}

nlohmann::json SeriesWorkload::parameters() const {
  nlohmann::json out = nlohmann::json::array();
  for (const Part& part : parts_) {
    out.push_back(part.workload->parameters());
    out.back()["file"] = part.workload->name();
  }
  return out;
}

Amounts SeriesWorkload::amounts() const {
  Amounts sum;
  for (const Part& part : parts_) {
    const Amounts one = part.workload->amounts();
    sum.bytes += one.bytes;
    sum.pieces += one.pieces;
    sum.requests += one.requests;
    sum.own_data_bytes += one.own_data_bytes;
  }
  return sum;
}

std::vector<std::string> SeriesWorkload::files(const std::string& path) const {
  std::vector<std::string> all;
  for (const Part& part : parts_) {
    for (std::string& name : part.workload->files(path + part.suffix)) {
      all.push_back(std::move(name));
    }
  }
  return all;
}

void SeriesWorkload::prepare_write() {
  for (const Part& part : parts_) part.workload->prepare_write();
}

void SeriesWorkload::write(const std::string& path, MPI_Info info, Phases& phases) {
  for (const Part& part : parts_) part.workload->write(path + part.suffix, info, phases);
}

void SeriesWorkload::prepare_read() {
  for (const Part& part : parts_) part.workload->prepare_read();
}

void SeriesWorkload::read(const std::string& path, MPI_Info info, Phases& phases) {
  for (const Part& part : parts_) part.workload->read(path + part.suffix, info, phases);
}

std::int64_t SeriesWorkload::verify() {
  std::int64_t wrong = 0;
  for (const Part& part : parts_) wrong += part.workload->verify();
  return wrong;
}

}  // namespace forebay::bench
