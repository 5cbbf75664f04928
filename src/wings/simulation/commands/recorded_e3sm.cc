#include "simulation/commands/recorded_e3sm.h"

#include <memory>
#include <stdexcept>

#include "files/source.h"
#include "workloads/made_by_ncgen.h"
#include "workloads/recorded_map.h"

namespace forebay::tools {

namespace {

// Only sizes matter: plans do not need the values of attributes.
bench::cdl::Attribute attribute_of(const Attribute& from) {
  bench::cdl::Attribute to;
  to.name = from.name;
  to.type = static_cast<bench::cdl::Type>(from.type);
  to.values = std::vector<double>(static_cast<std::size_t>(from.count));
  return to;
}

bench::cdl::Header header_of(const Source& file) {
  const Schema& schema = file.schema();
  bench::cdl::Header header;
  for (const Dimension& dim : schema.dims)
    header.dims.push_back({dim.name, dim.length, dim.is_record()});
  for (const Variable& from : schema.vars) {
    bench::cdl::Variable& var = header.vars.emplace_back();
    var.name = from.name;
    var.type = static_cast<bench::cdl::Type>(from.type);
    var.dims.assign(from.dimids.begin(), from.dimids.end());
    for (const Attribute& attribute : from.attributes) var.atts.push_back(attribute_of(attribute));
  }
  for (const Attribute& attribute : schema.attributes)
    header.atts.push_back(attribute_of(attribute));
  return header;
}

class Maps final : public bench::RecordedMaps {
 public:
  explicit Maps(const std::string& path) : file_(open_classic(path)) {}

 private:
  [[noreturn]] void lacks(const std::string& name) const {
    throw std::runtime_error(file_->path() + " is no map: it has no " + name);
  }
  std::int64_t dim_length(const std::string& name) const override {
    const auto dim = file_->schema().find_dim(name);
    if (!dim) lacks(name);
    return file_->length(*dim);
  }
  std::vector<int> attribute(const std::string& name) const override {
    const AttributeList& all = file_->schema().attributes;
    const auto i = all.find(name);
    if (!i || all[*i].type != Type::int32) lacks(name);
    std::vector<int> values;
    for (std::size_t at = 0; at < all[*i].value.size(); at += 4) {
      std::uint32_t value = 0;
      for (std::size_t b = 0; b < 4; ++b)
        value = value << 8 | std::to_integer<std::uint32_t>(all[*i].value[at + b]);
      values.push_back(static_cast<int>(value));
    }
    return values;
  }
  std::vector<int> ints(const std::string& name, std::int64_t start,
                        std::int64_t count) const override {
    const auto var = file_->schema().find_var(name);
    if (!var || file_->schema().vars[static_cast<std::size_t>(*var)].type != Type::int32)
      lacks(name);
    std::vector<int> values(static_cast<std::size_t>(count));
    if (count > 0) file_->read(*var, {{start}, {count}, {}}, values.data());
    return values;
  }

  std::unique_ptr<Source> file_;
};

}  // namespace

bench::E3smSource recorded_e3sm(const bench::E3smOptions& options) {
  const std::string folder = options.data_dir + "/";
  const bench::cdl::MadeByNcgen made(folder + bench::header_file_of(options));
  bench::E3smSource source;
  source.header = header_of(*open_classic(made.path()));
  const auto maps = std::make_shared<Maps>(folder + bench::map_file_of(options));
  source.map_ranks = maps->map_ranks();
  source.map = [maps](int map, bench::MapShare share) { return maps->read(map + 1, share); };
  return source;
}

}  // namespace forebay::tools
