#include "simulation/commands/e3sm_workload.h"

namespace forebay::tools {

namespace {

Attribute attribute_of(const bench::cdl::Attribute& from) {
  const std::size_t count =
      std::visit([](const auto& values) { return values.size(); }, from.values);
  Attribute to;
  to.name = from.name;
  to.type = static_cast<Type>(from.type);
  to.count = static_cast<Count>(count);
  to.value.resize(count * static_cast<std::size_t>(size_of(to.type)));
  return to;
}

}  // namespace

Schema schema_of(const bench::cdl::Header& header) {
  Schema schema;
  schema.version = 5;
  for (const auto& dim : header.dims) schema.add_dim({dim.name, dim.unlimited ? 0 : dim.length});
  for (const auto& from : header.vars) {
    Variable var;
    var.name = from.name;
    var.type = static_cast<Type>(from.type);
    var.dimids.assign(from.dims.begin(), from.dims.end());
    for (const auto& attribute : from.atts) var.attributes.append(attribute_of(attribute));
    schema.add_var(std::move(var));
  }
  for (const auto& attribute : header.atts) schema.attributes.append(attribute_of(attribute));
  return schema;
}

E3smWorkload::E3smWorkload(const bench::E3smOptions& options, bench::E3smSource source, int ranks,
                           const Method& method)
    : options_(options), source_(std::move(source)), ranks_(ranks) {
  bench::E3smCase first = bench::e3sm_case(options_, source_, 0, ranks_);
  schema_ = simulation::placed(schema_of(first.header), method);
  map_of_var_ = std::move(first.map_of_var);
  posts_ = bench::e3sm_posts(first.header, bench::records_of(options_));
}

Count E3smWorkload::operations() const {
  return bench::waits_each_record(options_) ? bench::records_of(options_) : 1;
}

// Flattens the map's pieces. Adjacent ones become one run.
const std::shared_ptr<const RunList>& E3smWorkload::list_of(int map, int width) const {
  auto& list = lists_[{map, width}];
  if (list) return list;
  std::vector<Run> runs;
  for (const bench::Run& r : maps_[static_cast<std::size_t>(map)].runs)
    runs.push_back({r.offset * width, r.length * width});
  list = std::make_shared<RunList>(sorted_run_list(std::move(runs), {}, false));
  return list;
}

void E3smWorkload::add_requests(Count operation, Rank rank, std::vector<Request>& requests) const {
  if (rank != rank_) {
    maps_ = bench::e3sm_maps(options_, source_, rank, ranks_);
    lists_.clear();
    rank_ = rank;
  }
  const bool by_record = bench::waits_each_record(options_);
  for (const bench::E3smPost& post : posts_) {
    if (by_record && post.record != operation) continue;
    const auto v = static_cast<std::size_t>(post.var);
    const Variable& var = schema_.vars[v];
    if (map_of_var_[v] < 0 && rank != 0) continue;
    Request& request = requests.emplace_back();
    request.var = post.var;
    request.element_size = size_of(var.type);
    if (map_of_var_[v] >= 0) {
      request.selection =
          Runs{list_of(map_of_var_[v], request.element_size), post.record * var.inner_bytes()};
      continue;
    }
    Subarray all{std::vector<Count>(var.shape.size(), 0), var.shape, {}};
    if (var.is_record) all.start[0] = post.record, all.count[0] = 1;
    request.selection = std::move(all);
  }
}

}  // namespace forebay::tools
