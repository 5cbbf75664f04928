#include "workloads/f_header.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay::bench {
namespace {

constexpr std::size_t kSurfaceFields = 321;
constexpr std::size_t kLevelFields = 63;
constexpr double kMissing = 1e20;

struct Field {
  std::string name;
  std::string units;
  std::string long_name;
};

enum Dim { Time, Bounds, Chars, Lev, Ilev, Column };

cdl::Attribute text(std::string name, std::string value) {
  return {std::move(name), cdl::Type::Char, std::move(value)};
}

void describe(cdl::Variable& var, const std::string& units, const std::string& long_name) {
  if (!units.empty()) var.atts.push_back(text("units", units));
  if (!long_name.empty()) var.atts.push_back(text("long_name", long_name));
}

struct Small {
  const char* name;
  cdl::Type type;
  std::vector<int> dims;
  const char* units;
  const char* long_name;
};

// The 27 variables that one process writes.
std::vector<Small> small_variables() {
  using cdl::Type;
  return {
      {"lev", Type::Double, {Lev}, "hPa", "pressure at layer centres of the reference column"},
      {"hyam", Type::Double, {Lev}, "", "layer-centre coefficient of the pressure part"},
      {"hybm", Type::Double, {Lev}, "", "layer-centre coefficient of the terrain part"},
      {"P0", Type::Double, {}, "Pa", "pressure that scales the hybrid coefficients"},
      {"ilev", Type::Double, {Ilev}, "hPa", "pressure at layer boundaries of the reference column"},
      {"hyai", Type::Double, {Ilev}, "", "layer-boundary coefficient of the pressure part"},
      {"hybi", Type::Double, {Ilev}, "", "layer-boundary coefficient of the terrain part"},
      {"time", Type::Double, {Time}, "days since 0001-01-01 00:00:00", "model time"},
      {"date", Type::Int, {Time}, "", "model date as YYYYMMDD"},
      {"datesec", Type::Int, {Time}, "s", "seconds of the model date"},
      {"time_bnds", Type::Double, {Time, Bounds}, "", "begin and end of the averaging interval"},
      {"date_written", Type::Char, {Time, Chars}, "", ""},
      {"time_written", Type::Char, {Time, Chars}, "", ""},
      {"ndbase", Type::Int, {}, "d", "first day of the run"},
      {"nsbase", Type::Int, {}, "s", "seconds of the first day"},
      {"nbdate", Type::Int, {}, "", "first date of the run as YYYYMMDD"},
      {"nbsec", Type::Int, {}, "s", "seconds of the first date"},
      {"mdt", Type::Int, {}, "s", "length of a physics step"},
      {"ndcur", Type::Int, {Time}, "d", "days since the first day"},
      {"nscur", Type::Int, {Time}, "s", "seconds of the current day"},
      {"co2vmr", Type::Double, {Time}, "mol/mol", "carbon dioxide, share of volume"},
      {"ch4vmr", Type::Double, {Time}, "mol/mol", "methane, share of volume"},
      {"n2ovmr", Type::Double, {Time}, "mol/mol", "nitrous oxide, share of volume"},
      {"f11vmr", Type::Double, {Time}, "mol/mol", "trichlorofluoromethane, share of volume"},
      {"f12vmr", Type::Double, {Time}, "mol/mol", "dichlorodifluoromethane, share of volume"},
      {"sol_tsi", Type::Double, {Time}, "W/m2", "solar irradiance at the top of the atmosphere"},
      {"nsteph", Type::Int, {Time}, "", "number of the current step"},
  };
}

struct Species {
  const char* name;
  const char* words;
};

constexpr std::array<Species, 9> kSpecies{{{"bc", "black carbon"},
                                           {"dst", "mineral dust"},
                                           {"mom", "marine organic matter"},
                                           {"ncl", "sea salt"},
                                           {"num", "particle number"},
                                           {"pom", "primary organic matter"},
                                           {"so4", "sulfate"},
                                           {"soa", "secondary organic aerosol"},
                                           {"h2o", "aerosol water"}}};

std::vector<Field> surface_fields() {
  std::vector<Field> fields{{"PS", "Pa", "pressure at the ground"},
                            {"PSL", "Pa", "pressure reduced to sea level"},
                            {"TS", "K", "radiative temperature of the ground"},
                            {"TREFHT", "K", "air temperature at 2 m"},
                            {"QREFHT", "kg/kg", "specific humidity at 2 m"},
                            {"U10", "m/s", "wind speed at 10 m"},
                            {"TAUX", "N/m2", "eastward stress on the ground"},
                            {"TAUY", "N/m2", "northward stress on the ground"},
                            {"PRECC", "m/s", "rain and snow from convection"},
                            {"PRECL", "m/s", "rain and snow from large-scale clouds"},
                            {"PRECSC", "m/s", "snow from convection"},
                            {"PRECSL", "m/s", "snow from large-scale clouds"},
                            {"LHFLX", "W/m2", "latent heat leaving the ground"},
                            {"SHFLX", "W/m2", "sensible heat leaving the ground"},
                            {"QFLX", "kg/m2/s", "water vapour leaving the ground"},
                            {"PBLH", "m", "height of the boundary layer"},
                            {"CLDTOT", "1", "cloud cover of the whole column"},
                            {"CLDLOW", "1", "cloud cover below 700 hPa"},
                            {"CLDMED", "1", "cloud cover between 700 and 400 hPa"},
                            {"CLDHGH", "1", "cloud cover above 400 hPa"},
                            {"TMQ", "kg/m2", "water vapour in the column"},
                            {"TGCLDLWP", "kg/m2", "cloud water in the column"},
                            {"TGCLDIWP", "kg/m2", "cloud ice in the column"},
                            {"LANDFRAC", "1", "share of land"},
                            {"OCNFRAC", "1", "share of ocean"},
                            {"ICEFRAC", "1", "share of sea ice"},
                            {"SNOWHLND", "m", "water equivalent of snow on land"}};
  for (const char* sky : {"", "C"}) {
    for (const char* band : {"FLN", "FSN", "FLD", "FSD", "FLU", "FSU"}) {
      for (const char* level : {"S", "T", "200"}) {
        fields.push_back({std::string(band) + level + sky, "W/m2",
                          std::string("radiative flux ") + band + " at level " + level +
                              (*sky == 0 ? "" : ", as if without clouds")});
      }
    }
  }
  struct Process {
    const char* suffix;
    const char* units;
    const char* words;
  };
  constexpr std::array<Process, 9> processes{
      {{"DDF", "kg/m2/s", "dry deposition on the ground"},
       {"SFWET", "kg/m2/s", "wet deposition on the ground"},
       {"SFSIC", "kg/m2/s", "wet removal in stratiform clouds"},
       {"SFSBC", "kg/m2/s", "wet removal below stratiform clouds"},
       {"SFSES", "kg/m2/s", "release by evaporating rain"},
       {"GVF", "kg/m2/s", "settling"},
       {"TBF", "kg/m2/s", "turbulent deposition"},
       {"SF", "kg/m2/s", "emission at the ground"},
       {"CMASS", "kg/m2", "mass in the column"}}};
  for (const Process& process : processes) {
    for (const Species& species : kSpecies) {
      for (int mode = 1; mode <= 4; ++mode) {
        if (fields.size() == kSurfaceFields) return fields;
        const std::string number = std::to_string(mode);
        fields.push_back(
            {std::string(species.name) + "_a" + number + process.suffix, process.units,
             std::string(species.words) + " in mode " + number + ": " + process.words});
      }
    }
  }
  return fields;
}

std::vector<Field> level_fields() {
  std::vector<Field> fields{{"T", "K", "air temperature"},
                            {"U", "m/s", "eastward wind"},
                            {"V", "m/s", "northward wind"},
                            {"OMEGA", "Pa/s", "rate of change of pressure along the flow"},
                            {"Q", "kg/kg", "specific humidity"},
                            {"Z3", "m", "geopotential height"},
                            {"RELHUM", "percent", "relative humidity"},
                            {"CLOUD", "1", "share of the layer in cloud"},
                            {"CLDLIQ", "kg/kg", "cloud water"},
                            {"CLDICE", "kg/kg", "cloud ice"},
                            {"NUMLIQ", "1/kg", "number of cloud droplets"},
                            {"NUMICE", "1/kg", "number of ice crystals"},
                            {"RAINQM", "kg/kg", "rain"},
                            {"SNOWQM", "kg/kg", "snow"},
                            {"QRL", "K/s", "heating by terrestrial radiation"},
                            {"QRS", "K/s", "heating by solar radiation"},
                            {"DTCOND", "K/s", "heating by moist processes"},
                            {"UU", "m2/s2", "square of the eastward wind"},
                            {"VV", "m2/s2", "square of the northward wind"},
                            {"VT", "K m/s", "northward transport of heat"},
                            {"VQ", "m/s kg/kg", "northward transport of water vapour"},
                            {"OMEGAT", "K Pa/s", "vertical transport of heat"},
                            {"EXTINCT", "1/m", "extinction by aerosol"},
                            {"ABSORB", "1/m", "absorption by aerosol"},
                            {"O3", "mol/mol", "ozone"},
                            {"SO2", "mol/mol", "sulfur dioxide"},
                            {"DMS", "mol/mol", "dimethyl sulfide"}};
  for (const Species& species : kSpecies) {
    for (int mode = 1; mode <= 4; ++mode) {
      const std::string number = std::to_string(mode);
      fields.push_back({std::string(species.name) + "_a" + number, "kg/kg",
                        std::string(species.words) + " in mode " + number});
    }
  }
  fields.resize(kLevelFields);
  return fields;
}

void add_field(cdl::Header& header, const Field& field, std::vector<int> dims) {
  cdl::Variable var{field.name, cdl::Type::Float, std::move(dims), {}};
  const bool has_levels = var.dims.size() == 3;
  if (has_levels) {
    var.atts.push_back({"mdims", cdl::Type::Int, std::vector<std::int64_t>{1}});
  } else {
    for (const char* name : {"_FillValue", "missing_value"}) {
      var.atts.push_back({name, cdl::Type::Float, std::vector<double>{kMissing}});
    }
  }
  describe(var, field.units, field.long_name);
  var.atts.push_back(text("cell_methods", "time: mean"));
  header.vars.push_back(std::move(var));
}

}  // namespace

cdl::Header make_f_header(std::int64_t columns, std::int64_t levels) {
  cdl::Header header;
  header.dims = {{"time", 0, true}, {"nbnd", 2},          {"chars", 8},
                 {"lev", levels},   {"ilev", levels + 1}, {"ncol", columns}};
  for (const char* name : {"lat", "lon", "area"}) {
    cdl::Variable var{name, cdl::Type::Double, {Column}, {}};
    const std::string_view which(name);
    describe(var,
             which == "lat"   ? "degrees_north"
             : which == "lon" ? "degrees_east"
                              : "sr",
             which == "lat"   ? "latitude of the column"
             : which == "lon" ? "longitude of the column"
                              : "area of the column on the unit sphere");
    header.vars.push_back(std::move(var));
  }
  for (const Small& small : small_variables()) {
    cdl::Variable var{small.name, small.type, small.dims, {}};
    describe(var, small.units, small.long_name);
    header.vars.push_back(std::move(var));
  }
  for (const Field& field : surface_fields()) add_field(header, field, {Time, Column});
  for (const Field& field : level_fields()) add_field(header, field, {Time, Lev, Column});

  header.atts = {text("title", "atmosphere history, generated for measurement"),
                 text("source", "forebay bench"),
                 text("realm", "atmos"),
                 text("Conventions", "CF-1.7"),
                 text("time_period_freq", "day_5"),
                 {"np", cdl::Type::Int, std::vector<std::int64_t>{4}}};
  return header;
}

}  // namespace forebay::bench
