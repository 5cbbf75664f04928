#include <memory>

#include "workloads/e3sm_case.h"
#include "workloads/map_file.h"
#include "workloads/workload.h"

namespace forebay::bench {
namespace {

E3smSource recorded(const E3smOptions& options) {
  const std::string dir = options.data_dir + "/";
  E3smSource out;
  out.header = cdl::parse_file(dir + header_file_of(options));
  const auto file = std::make_shared<MapFile>(dir + map_file_of(options));
  out.map_ranks = file->map_ranks();
  out.map = [file](int map, MapShare share) { return file->read(map + 1, share); };
  return out;
}

}  // namespace

E3smCase load_e3sm_case(const E3smOptions& options, const Team& team) {
  const E3smSource source = options.data_dir.empty() ? generated_e3sm(options) : recorded(options);
  return e3sm_case(options, source, team.rank, team.size);
}

}  // namespace forebay::bench
