#include "workloads/e3sm_case.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "workloads/cubed_sphere.h"
#include "workloads/f_header.h"

namespace forebay::bench {
namespace {

constexpr std::int64_t kGeneratedLevels = 72;

struct MapRule {
  std::vector<std::vector<std::string_view>> dims;  // alternatives, slowest first, without time
  std::string_view only_variable;                   // if not empty
};

struct CaseRules {
  std::vector<std::string_view> tiled_dims;
  std::vector<MapRule> maps;
};

const CaseRules& rules_of(char which) {
  static const CaseRules atmosphere{
      {"ncol"}, {{{{"ncol"}}, "area"}, {{{"ncol"}}, ""}, {{{"lev", "ncol"}}, ""}}};
  static const CaseRules ocean{{"nCells", "nEdges", "nVertices"},
                               {{{{"nCells"}}, ""},
                                {{{"nEdges"}}, ""},
                                {{{"nCells", "nVertLevels"}}, ""},
                                {{{"nEdges", "nVertLevels"}}, ""},
                                {{{"nVertices", "nVertLevels"}}, ""},
                                {{{"nCells", "nVertLevelsP1"}}, ""}}};
  static const CaseRules land{{"lon"},
                              {{{{"lat", "lon"}}, ""},
                               {{{"levgrnd", "lat", "lon"}, {"levdcmp", "lat", "lon"}}, ""},
                               {{{"levlak", "lat", "lon"}}, ""},
                               {{{"ltype", "lat", "lon"}}, ""},
                               {{{"natpft", "lat", "lon"}}, ""}}};
  switch (which) {
    case 'F':
      return atmosphere;
    case 'G':
      return ocean;
    case 'I':
      return land;
    default:
      throw std::runtime_error("the case must be F, G or I");
  }
}

// Gives the header's dimensions the lengths of the maps: headers may come from another run size.
void adopt_lengths(const MapRule& rule, const Decomposition& map, cdl::Header& header) {
  for (const auto& names : rule.dims) {
    if (names.size() != map.dims.size()) {
      throw std::runtime_error("a map has another number of dimensions than its case");
    }
    for (std::size_t d = 0; d < names.size(); ++d) {
      const int dim = header.find_dim(names[d]);
      if (dim >= 0) header.dims[static_cast<std::size_t>(dim)].length = map.dims[d];
    }
  }
}

void tile_maps(const CaseRules& rules, int tiles, std::vector<Decomposition>& maps) {
  for (std::size_t m = 0; m < maps.size(); ++m) {
    const auto& names = rules.maps[m].dims.front();
    std::size_t axis = 0;
    while (std::find(rules.tiled_dims.begin(), rules.tiled_dims.end(), names[axis]) ==
           rules.tiled_dims.end()) {
      ++axis;
    }
    if (tiles > 1) maps[m] = tile(maps[m], tiles, axis);
    sort_and_cut(maps[m]);
  }
}

int map_for(const CaseRules& rules, const cdl::Header& header, const cdl::Variable& var) {
  std::vector<std::string_view> names;
  for (std::size_t d = header.is_record(var) ? 1 : 0; d < var.dims.size(); ++d) {
    names.push_back(header.dims[static_cast<std::size_t>(var.dims[d])].name);
  }
  for (std::size_t m = 0; m < rules.maps.size(); ++m) {
    const MapRule& rule = rules.maps[m];
    const bool dims_fit = std::find(rule.dims.begin(), rule.dims.end(), names) != rule.dims.end();
    if (dims_fit && (rule.only_variable.empty() || rule.only_variable == var.name)) {
      return static_cast<int>(m);
    }
  }
  return -1;
}

}  // namespace

int records_of(const E3smOptions& options) {
  if (options.records > 0) return options.records;
  switch (options.which) {
    case 'G':
      return 5;
    case 'I':
      return 7;
    default:
      return 1;
  }
}

bool waits_each_record(const E3smOptions& options) {
  return options.wait_each_record.value_or(options.which == 'I');
}

std::string header_file_of(const E3smOptions& options) {
  switch (options.which) {
    case 'G':
      return "g_case_hist.txt";
    case 'I':
      return "i_case_" + options.history + ".txt";
    default:
      return "f_case_" + options.history + ".txt";
  }
}

std::string map_file_of(const E3smOptions& options) {
  const char letter = static_cast<char>(std::tolower(static_cast<unsigned char>(options.which)));
  return std::string("map_") + letter + "_case_16p.nc";
}

E3smSource generated_e3sm(const E3smOptions& options) {
  if (options.which != 'F') {
    throw std::runtime_error(
        "only the F case can be generated: name the folder of the recorded maps "
        "with --data or FOREBAY_E3SM_DATA");
  }
  E3smSource out;
  out.map_ranks = options.generated_map_ranks;
  const CubedSphere sphere = make_cubed_sphere(options.ne, out.map_ranks);
  out.header = make_f_header(sphere.columns, kGeneratedLevels);
  const auto dynamics = std::make_shared<OwnedColumns>(sphere.dynamics_owner, out.map_ranks);
  const auto physics = std::make_shared<OwnedColumns>(sphere.physics_owner, out.map_ranks);
  out.map = [dynamics, physics](int map, MapShare share) {
    if (map == 0) return dynamics->of(share, 0, true);
    return physics->of(share, map == 1 ? 0 : kGeneratedLevels, false);
  };
  return out;
}

std::int64_t elements_of_maps(const E3smOptions& options, const E3smSource& source) {
  std::int64_t all = 0;
  for (std::size_t m = 0; m < rules_of(options.which).maps.size(); ++m) {
    const auto dims = source.map(static_cast<int>(m), {}).dims;
    all += std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  }
  return all;
}

std::vector<Decomposition> e3sm_maps(const E3smOptions& options, const E3smSource& source, int rank,
                                     int ranks) {
  const CaseRules& rules = rules_of(options.which);
  const MapShare share = share_of(rank, ranks, source.map_ranks);
  std::vector<Decomposition> maps;
  for (std::size_t m = 0; m < rules.maps.size(); ++m)
    maps.push_back(source.map(static_cast<int>(m), share));
  tile_maps(rules, options.tiles, maps);
  return maps;
}

E3smCase e3sm_case(const E3smOptions& options, const E3smSource& source, int rank, int ranks) {
  const CaseRules& rules = rules_of(options.which);
  E3smCase out;
  out.header = source.header;
  out.map_ranks = source.map_ranks;
  out.maps = e3sm_maps(options, source, rank, ranks);
  for (std::size_t m = 0; m < out.maps.size(); ++m) {
    adopt_lengths(rules.maps[m], out.maps[m], out.header);
  }
  for (const cdl::Variable& var : out.header.vars) {
    out.map_of_var.push_back(map_for(rules, out.header, var));
  }
  return out;
}

std::vector<E3smPost> e3sm_posts(const cdl::Header& header, int records) {
  std::vector<E3smPost> posts;
  for (int record = 0; record < records; ++record)
    for (std::size_t v = 0; v < header.vars.size(); ++v)
      if (record == 0 || header.is_record(header.vars[v]))
        posts.push_back({static_cast<int>(v), record});
  return posts;
}

}  // namespace forebay::bench
