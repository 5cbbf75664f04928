#include "simulation/commands/workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "method/method_values.h"
#include "simulation/commands/e3sm_workload.h"
#include "simulation/commands/recorded_e3sm.h"
#include "workloads/arrays_checkerboard.h"
#include "workloads/block_shape.h"

namespace forebay::tools {

namespace {

using bench::BlockOptions;
using bench::CheckerboardOptions;
constexpr int most = std::numeric_limits<int>::max();
// Limits that fit into a laptop's memory.
constexpr int most_map_ranks = 1 << 24, most_ne = 512;

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(Errc::einval, "plan: " + what, advice);
}

int number(const std::optional<Count>& given, int usual, const char* option, int largest = most) {
  if (!given) return usual;
  if (*given < 1 || *given > largest)
    refuse(fmt::format("{} {} is not a number from 1 to {}", option, *given, largest), "");
  return static_cast<int>(*given);
}

void take_size(const std::optional<Count>& given, int ranks, std::int64_t& size) {
  Count all = 0;
  if (given) size = *given;
  if (size < 1 || !multiply_fits(size, Count{8} * ranks, all))
    refuse(fmt::format("{} bytes of each of {} ranks are none, or more than a file can have", size,
                       ranks),
           "");
}

Request boxed(const bench::Box& box, int width) {
  Request request;
  request.element_size = width;
  request.selection =
      Subarray{{box.start.begin(), box.start.end()}, {box.count.begin(), box.count.end()}, {}};
  return request;
}

template <typename Lengths>
Schema one_variable(const Lengths& lengths, Type type) {
  Schema schema;
  schema.version = 5;
  Variable var;
  var.name = "x";
  var.type = type;
  for (const auto length : lengths)
    var.dimids.push_back(schema.add_dim({"d" + std::to_string(var.dimids.size()), length}));
  schema.add_var(std::move(var));
  return schema;
}

class BlocksWorkload : public simulation::Workload {
 public:
  BlocksWorkload(const BlockOptions& options, int ranks, bool write, const Method& method)
      : shape_(options, ranks), write_(write) {
    const Type type = shape_.is_double() ? Type::float64 : Type::float32;
    schema_ = simulation::placed(one_variable(shape_.dims(), type), method);
  }
  const Schema& schema() const override { return schema_; }
  Count operations() const override { return write_ ? shape_.writes() : shape_.reads(); }
  void add_requests(Count operation, Rank rank, std::vector<Request>& requests) const override {
    const auto box = write_ ? shape_.written(rank, operation) : shape_.read(rank, operation);
    requests.push_back(boxed(box, shape_.is_double() ? 8 : 4));
  }

 private:
  bench::BlockShape shape_;
  bool write_;
  Schema schema_;
};

class CheckerboardWorkload : public simulation::Workload {
 public:
  CheckerboardWorkload(const CheckerboardOptions& options, int ranks, const Method& method)
      : pattern_(options, ranks) {
    const bench::ArrayVariable& from = pattern_.variables().front();
    schema_ = one_variable(from.shape, Type::int32);
    Chunking& chunking = schema_.vars[0].chunking.emplace();
    chunking.shape.assign(from.chunk.begin(), from.chunk.end());
    chunking.codec = method.codec;
  }
  const Schema& schema() const override { return schema_; }
  Count operations() const override { return 1; }
  void add_requests(Count, Rank rank, std::vector<Request>& requests) const override {
    requests.push_back(boxed(pattern_.block(0, rank), 4));
  }

 private:
  bench::CheckerboardPattern pattern_;
  Schema schema_;
};

CheckerboardOptions checkerboard_of(const WorkloadChoice& c, int ranks) {
  CheckerboardOptions options;
  take_size(c.total, 1, options.bytes);
  take_size(c.chunk, 1, options.chunk_bytes);
  if (options.bytes / 4 < ranks)
    refuse("--total has no element for each rank", "give a larger one");
  if (options.chunk_bytes > Count{1} << 30) refuse("--chunk is too large", "give at most 1 GiB");
  using Grid = CheckerboardOptions::Grid;
  if (c.grid == "aligned") {
    options.grid = Grid::Aligned;
  } else if (c.grid == "d5") {
    options.grid = Grid::D5;
  } else if (!c.grid.empty() && c.grid != "shared") {
    refuse("--grid " + c.grid + " is none", "use aligned, shared or d5");
  }
  return options;
}

BlockOptions blocks_of(const WorkloadChoice& c, BlockOptions::Shape shape, int ranks) {
  BlockOptions options = bench::usual_blocks(shape);
  take_size(c.size, ranks, options.bytes_per_rank);
  take_size(c.piece, ranks, options.piece_bytes);
  if (shape == BlockOptions::Shape::Btio && !c.grid.empty()) {
    const auto points = parse_count(c.grid);
    if (!points) refuse("--grid " + c.grid + " is not a number of points", "");
    options.grid = number(points, options.grid, "--grid", 1 << 15);
  }
  options.iterations = number(c.iterations, options.iterations, "--iterations");
  return options;
}

// Checks the size of one rank's data, of which one is in memory at a time: at most some GiB. The
// simulation checks the sum over a node.
void check_size(const bench::E3smOptions& options, const bench::E3smSource& source, int ranks) {
  constexpr Count most_elements = Count{1} << 24, most_requests = Count{1} << 20;
  const Count parts = std::min(ranks, source.map_ranks);
  const Count elements = bench::elements_of_maps(options, source) * options.tiles / parts;
  if (elements > most_elements)
    refuse(fmt::format("a rank has {} elements of the maps", elements),
           fmt::format("at most {} are held: give more --ranks or --map-ranks, or fewer tiles",
                       most_elements));
  const Count records = bench::waits_each_record(options) ? 1 : bench::records_of(options);
  const Count requests = std::ssize(source.header.vars) * records;
  if (requests > most_requests)
    refuse(fmt::format("a rank makes {} requests at once", requests),
           fmt::format("at most {} are held: give --records of at most {}", most_requests,
                       most_requests / std::ssize(source.header.vars)));
}

std::unique_ptr<simulation::Workload> make_e3sm(const WorkloadChoice& c, int ranks,
                                                const Method& method) {
  bench::E3smOptions options;
  options.which = c.e3sm_case.front();
  options.history = c.history;
  options.tiles = number(c.tiles, 1, "--tile", 1000);
  options.records = number(c.records, 0, "--records", 10000);
  options.generated_map_ranks =
      number(c.map_ranks, std::min(ranks, most_map_ranks), "--map-ranks", most_map_ranks);
  options.ne = 120;
  const char* const folder = std::getenv("FOREBAY_E3SM_DATA");
  options.data_dir = !c.data.empty() ? c.data : folder != nullptr ? folder : "";
  if (!c.generate.empty()) {
    options.data_dir.clear();
    const std::string text = c.generate.starts_with("ne=") ? c.generate.substr(3) : c.generate;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.ne);
    if (error != std::errc() || end != text.data() + text.size() || options.ne < 1 ||
        options.ne > most_ne)
      refuse("--generate " + c.generate + " is not ne=1 to ne=512", "");
  }
  auto source = options.data_dir.empty() ? bench::generated_e3sm(options) : recorded_e3sm(options);
  check_size(options, source, ranks);
  return std::make_unique<E3smWorkload>(options, std::move(source), ranks, method);
}

}  // namespace

std::unique_ptr<simulation::Workload> make_plan_workload(const WorkloadChoice& choice, int ranks,
                                                         bool write, const Method& method) {
  if (ranks < 1) refuse("there is no rank", "give --ranks of at least 1");
  if (choice.name == "e3sm") return make_e3sm(choice, ranks, method);
  if (choice.name == "checkerboard2d")
    return std::make_unique<CheckerboardWorkload>(checkerboard_of(choice, ranks), ranks, method);
  using Shape = BlockOptions::Shape;
  for (const Shape shape : {Shape::Contiguous, Shape::Strided, Shape::Checkerboard,
                            Shape::IorStrided, Shape::IorContiguous, Shape::Btio}) {
    if (choice.name == bench::name_of(shape))
      return std::make_unique<BlocksWorkload>(blocks_of(choice, shape, ranks), ranks, write,
                                              method);
  }
  refuse("there is no workload " + choice.name, "forebay plan --help names them");
}

}  // namespace forebay::tools
