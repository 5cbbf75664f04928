#include "groups/records/group_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "dataset/probe.h"
#include "groups/process_group/bp_reader.h"
#include "groups/records/step_files.h"
#include "stage/recovery.h"
#include "storage/file.h"

namespace forebay {

namespace {

/// If a file is neither, opening it as a BP file says why.
bool is_netcdf(const std::string& path) {
  if (process_group::is_bp(path)) return false;
  bool is = false;
  attempt_to([&] { is = probe_format(path).has_value(); });
  return is;
}

// Collective. Only rank 0 looks.
std::unique_ptr<StoredGroup> open_stored(const Comm& comm, const std::string& path,
                                         const Method& method) {
  std::int64_t records = 0;
  const auto look = [&] {
    records = is_netcdf(path) ? 1 : 0;
    const std::string plain = strip_prefix(path);
    std::error_code none;
    if (records != 0 || std::filesystem::exists(plain, none)) return;
    if (const auto steps = files_of_steps(plain); !steps.empty())
      throw Error(Errc::enoent, path + " is not there: its steps have files of their own",
                  "open one of them, as " + file_of_step(plain, steps.front()));
  };
  const auto failed = comm.is_root() ? attempt_to(look) : std::nullopt;
  agree_on_error(comm, failed, std::span(&records, 1), Reduce::max);
  if (records != 0) return open_records(comm, path, method);
  if (lays_over(method)) {
    by_root(comm, [&] {
      if (has_staged_writes(path))
        throw Error(Errc::enotsupport,
                    path + " has staged steps, which nothing lays over a BP file",
                    "bring them in with forebay recover " + path + ", once the job has ended");
    });
  }
  meet_leftover_logs(comm, path, false, false, method);
  return open_process_groups(comm, path, method);
}

std::int64_t checked(std::int64_t step) {
  if (step < 0)
    throw Error(Errc::einvalcoords, "there is no step " + std::to_string(step),
                "steps count from 0");
  return step;
}

}  // namespace

GroupReader::GroupReader(const Comm& comm, const std::string& path, const Method& method)
    : file_(open_stored(comm, path, method)) {}

process_group::StepStatus GroupReader::begin_step(double seconds, std::int64_t& step) {
  using process_group::StepStatus;
  if (next_ >= steps())
    if (const StepStatus found = file_->find_steps(seconds); found != StepStatus::ok) return found;
  step = next_++;
  return StepStatus::ok;
}

const std::string& GroupReader::name(int number) const {
  if (number < 0 || number >= variables())
    throw Error(Errc::enotvar,
                file_->path() + " has " + std::to_string(variables()) + " variables");
  return file_->name(static_cast<std::size_t>(number));
}

GroupType GroupReader::type(const std::string& name) const {
  return file_->type(file_->find(name));
}

int GroupReader::dimensions(const std::string& name) const {
  return file_->dimensions(file_->find(name));
}

std::vector<std::int64_t> GroupReader::shape(const std::string& name, std::int64_t step) const {
  return file_->shape(file_->find(name), checked(step));
}

std::int64_t GroupReader::bytes(const std::string& name, std::int64_t step) const {
  const std::size_t v = file_->find(name);
  std::int64_t bytes = file_->element_size(v);
  if (bytes == 0) return std::ssize(file_->text(v, checked(step))) + 1;
  for (const Count n : shape(name, step))
    if (__builtin_mul_overflow(bytes, n, &bytes))
      throw Error(Errc::eintoverflow, name + " has more than 2^63 bytes");
  return bytes;
}

std::int64_t GroupReader::blocks(const std::string& name, std::int64_t step) const {
  return file_->blocks(file_->find(name), checked(step));
}

// Returns the variable and checks that it has the block.
std::size_t GroupReader::with_block(const std::string& name, std::int64_t step,
                                    std::int64_t number) const {
  const std::size_t v = file_->find(name);
  const std::int64_t there = file_->blocks(v, checked(step));
  if (number < 0 || number >= there)
    throw Error(Errc::einvalcoords, file_->name(v) + " has " + std::to_string(there) +
                                        " blocks in step " + std::to_string(step));
  return v;
}

void GroupReader::block(const std::string& name, std::int64_t step, std::int64_t number,
                        std::int64_t* start, std::int64_t* count) const {
  const Subarray box = file_->block(with_block(name, step, number), step, number);
  if (start) std::copy(box.start.begin(), box.start.end(), start);
  if (count) std::copy(box.count.begin(), box.count.end(), count);
}

int GroupReader::range(const std::string& name, std::int64_t step, double& least,
                       double& greatest) const {
  return file_->range(file_->find(name), checked(step), least, greatest);
}

std::int64_t GroupReader::moments(const std::string& name, std::int64_t step, double& mean,
                                  double& deviation) const {
  const bp::Moments all = file_->moments(file_->find(name), checked(step));
  if (all.count <= 0) return all.count;
  const auto n = static_cast<double>(all.count);
  mean = all.sum / n;
  deviation = std::isfinite(all.squares) ? std::sqrt(std::max(0.0, all.squares / n - mean * mean))
                                         : std::numeric_limits<double>::infinity();
  return all.count;
}

template <typename F>
void GroupReader::with_box(const std::string& name, std::int64_t step, const std::int64_t* start,
                           const std::int64_t* count, void* data, F&& f) const {
  const std::size_t v = file_->find(name);
  const auto need_room = [&](bool needed) {
    if (needed && !data) throw Error(Errc::einval, name + ": nowhere to put its values");
  };
  if (file_->element_size(v) == 0) {
    const std::string text = file_->text(v, checked(step));
    need_room(true);
    std::memcpy(data, text.c_str(), text.size() + 1);
    return;
  }
  const std::vector<Count> shape = file_->shape(v, checked(step));
  if ((start == nullptr) != (count == nullptr))
    throw Error(Errc::einval, name + ": a start without a count, or the other way round",
                "give both, or none for all of it");
  Subarray box{std::vector<Count>(shape.size(), 0), shape, {}};
  if (start) {
    box.start.assign(start, start + shape.size());
    box.count.assign(count, count + shape.size());
  }
  need_room(std::find(box.count.begin(), box.count.end(), 0) == box.count.end());
  f(v, box);
}

void GroupReader::read(const std::string& name, std::int64_t step, const std::int64_t* start,
                       const std::int64_t* count, void* data) const {
  with_box(name, step, start, count, data, [&](std::size_t v, const Subarray& box) {
    file_->read(v, step, box, static_cast<std::byte*>(data));
  });
}

void GroupReader::read_later(const std::string& name, std::int64_t step, const std::int64_t* start,
                             const std::int64_t* count, void* data) {
  with_box(name, step, start, count, data, [&](std::size_t v, const Subarray& box) {
    file_->read_later(v, step, box, static_cast<std::byte*>(data));
  });
}

std::int64_t GroupReader::find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                               std::int64_t* blocks) const {
  return file_->find(condition, most, steps, blocks);
}

void GroupReader::read_block(const std::string& name, std::int64_t step, std::int64_t number,
                             void* data) const {
  const std::size_t v = with_block(name, step, number);
  if (!data && file_->block(v, step, number).elements() > 0)
    throw Error(Errc::einval, name + ": nowhere to put its values");
  file_->read_block(v, step, number, static_cast<std::byte*>(data));
}

}  // namespace forebay
