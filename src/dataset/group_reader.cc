#include "dataset/group_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "dataset/group_types.h"
#include "dataset/print_report.h"
#include "layout/process_group/search.h"

namespace forebay {

namespace {

// MPI-IO opens one file by itself.
TransportOptions options_for(const Method& method) {
  TransportOptions options = transport_options(method);
  const auto* const entry = find_part<TransportEntry>(options.kind);
  if (entry && entry->needs) options.kind = "auto";
  return options;
}

}  // namespace

GroupReader::GroupReader(const Comm& comm, const std::string& path, const Method& method)
    : comm_(comm),
      method_(method),
      file_(comm, path, report_),
      pending_(file_),
      transport_(make_transport(comm_, pending_.joined(), options_for(method_), report_)) {
  start_timeline(comm_, method_, report_, opened_);
}

std::size_t GroupReader::checked(std::int64_t step) {
  if (step < 0)
    throw Error(Errc::einvalcoords, "there is no step " + std::to_string(step),
                "steps count from 0");
  return static_cast<std::size_t>(step);
}

const std::string& GroupReader::name(int number) const {
  if (number < 0 || number >= variables())
    throw Error(Errc::enotvar, file_.path() + " has " + std::to_string(variables()) + " variables");
  return file_.variables()[static_cast<std::size_t>(number)].variable.name;
}

GroupType GroupReader::type(const std::string& name) const {
  return group_type(file_.variables()[file_.find(name)].variable.type);
}

// Those of the array that blocks make together.
int GroupReader::dimensions(const std::string& name) const {
  const auto& variable = file_.variables()[file_.find(name)];
  return variable.kind == process_group::Kind::local_value ? 1
                                                           : static_cast<int>(variable.dimensions);
}

std::vector<std::int64_t> GroupReader::shape(const std::string& name, std::int64_t step) const {
  return file_.array(file_.find(name), checked(step)).shape;
}

std::int64_t GroupReader::bytes(const std::string& name, std::int64_t step) const {
  const std::size_t v = file_.find(name);
  const bp::Type type = file_.variables()[v].variable.type;
  if (type == bp::Type::string) return std::ssize(file_.text(v, checked(step))) + 1;
  std::int64_t bytes = bp::size_of(type);
  for (const Count n : shape(name, step))
    if (__builtin_mul_overflow(bytes, n, &bytes))
      throw Error(Errc::eintoverflow, name + " has more than 2^63 bytes");
  return bytes;
}

const std::vector<bp::Block>& GroupReader::blocks_of(std::size_t v, std::int64_t step) const {
  if (blocks_are_ != std::pair(v, step)) {
    blocks_are_ = {-1, -1};
    blocks_ = file_.blocks(v, checked(step));
    blocks_are_ = {v, step};
  }
  return blocks_;
}

const bp::Block& GroupReader::block_of(std::size_t v, std::int64_t step,
                                       std::int64_t number) const {
  const auto& all = blocks_of(v, step);
  if (number < 0 || number >= std::ssize(all))
    throw Error(Errc::einvalcoords, file_.variables()[v].variable.name + " has " +
                                        std::to_string(all.size()) + " blocks in step " +
                                        std::to_string(step));
  return all[static_cast<std::size_t>(number)];
}

std::int64_t GroupReader::blocks(const std::string& name, std::int64_t step) const {
  return std::ssize(blocks_of(file_.find(name), step));
}

void GroupReader::block(const std::string& name, std::int64_t step, std::int64_t number,
                        std::int64_t* start, std::int64_t* count) const {
  const std::size_t v = file_.find(name);
  const bp::Shape& at = block_of(v, step, number).at;
  if (file_.variables()[v].kind == process_group::Kind::local_value) {
    if (count) count[0] = 1;
    if (start) start[0] = 0;
    return;
  }
  for (std::size_t d = 0; d < at.count.size(); ++d) {
    if (count) count[d] = at.count[d];
    if (start) start[d] = at.start.empty() ? 0 : at.start[d];
  }
}

// adios2 says 0 and 0 of blocks without elements, and counts infinities among arrays' values.
int GroupReader::range(const std::string& name, std::int64_t step, double& least,
                       double& greatest) const {
  const std::size_t v = file_.find(name);
  const bp::Type type = file_.variables()[v].variable.type;
  if (to_engine(type) == Type::none) return 0;
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (const bp::Block& block : blocks_of(v, step)) {
    if (block.bytes == 0) continue;
    const double low = bp::number_of<double>(type, block.min),
                 high = bp::number_of<double>(type, block.max);
    if (block.has_value && !std::isfinite(low)) continue;
    if (!block.has_value && !block.has_range) return -1;
    if (low > high) continue;  // no value of it counts
    if (!std::isfinite(low) || !std::isfinite(high)) return -1;
    lowest = std::min(lowest, low);
    highest = std::max(highest, high);
  }
  if (lowest > highest) return 0;
  least = lowest;
  greatest = highest;
  return 1;
}

template <typename F>
void GroupReader::with_box(const std::string& name, std::int64_t step, const std::int64_t* start,
                           const std::int64_t* count, void* data, F&& f) const {
  const std::size_t v = file_.find(name);
  const auto need_room = [&](bool needed) {
    if (needed && !data) throw Error(Errc::einval, name + ": nowhere to put its values");
  };
  if (file_.variables()[v].variable.type == bp::Type::string) {
    const std::string text = file_.text(v, checked(step));
    need_room(true);
    std::memcpy(data, text.c_str(), text.size() + 1);
    return;
  }
  const std::vector<Count>& shape = file_.array(v, checked(step)).shape;
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
    file_.read(v, checked(step), box, static_cast<std::byte*>(data));
  });
}

void GroupReader::read_later(const std::string& name, std::int64_t step, const std::int64_t* start,
                             const std::int64_t* count, void* data) {
  with_box(name, step, start, count, data, [&](std::size_t v, const Subarray& box) {
    pending_.add(v, checked(step), box, static_cast<std::byte*>(data));
    ++report_[Counter::requests];
    report_[Counter::bytes_asked_read] +=
        box.elements() * bp::size_of(file_.variables()[v].variable.type);
  });
}

void GroupReader::perform_reads() { pending_.perform(comm_, *transport_); }

void GroupReader::close() {
  transport_->close();
  end_with_report(comm_, file_.path(), report_, method_, opened_,
                  [&] { return std::vector<std::string>{transport_->reasons()}; });
}

std::int64_t GroupReader::find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                               std::int64_t* blocks) const {
  std::int64_t found = 0;
  search(file_, process_group::parse_search(condition), false,
         [&](const process_group::FoundBlock& one) {
           if (found < most && steps) steps[found] = static_cast<std::int64_t>(one.step);
           if (found < most && blocks) blocks[found] = one.block;
           ++found;
         });
  return found;
}

void GroupReader::read_block(const std::string& name, std::int64_t step, std::int64_t number,
                             void* data) const {
  const std::size_t v = file_.find(name);
  const bp::Block& block = block_of(v, step, number);
  if (!data && block.bytes > 0) throw Error(Errc::einval, name + ": nowhere to put its values");
  file_.read_block(v, block, static_cast<std::byte*>(data));
}

}  // namespace forebay
