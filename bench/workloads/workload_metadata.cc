#include "workloads/workload_metadata.h"

#include <array>

#include "backends/backend.h"

namespace forebay::bench {
namespace {

constexpr int kDims = 10;
constexpr int kDimsOfVariable = 2;
constexpr int kRoomForDims = 64;

// Attributes alternate between text and one double.
bool is_text(int attribute) { return attribute % 2 == 0; }
std::string text_of(int variable, int attribute) {
  return "quantity " + std::to_string(variable) + ", remark " + std::to_string(attribute);
}
double number_of(int variable, int attribute) { return variable + attribute / 16.0; }

}  // namespace

MetadataWorkload::MetadataWorkload(const MetadataOptions& options, const Team& team)
    : options_(options), team_(team) {
  for (int v = 0; v < options.variables; ++v) names_.push_back("variable_" + std::to_string(v));
  for (int a = 0; a < options.attributes; ++a) {
    att_names_.push_back("attribute_" + std::to_string(a));
  }
}

nlohmann::json MetadataWorkload::parameters() const {
  return {{"variables", options_.variables}, {"attributes", options_.attributes}};
}

void MetadataWorkload::write(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  check(ncmpi_create(team_.comm, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid), "create");
  phases.mark("open");
  std::array<int, kDims> dims{};
  for (int d = 0; d < kDims; ++d) {
    const std::string name = "dim_" + std::to_string(d);
    check(ncmpi_def_dim(ncid, name.c_str(), d + 1, &dims[static_cast<std::size_t>(d)]), "def_dim");
  }
  for (int v = 0; v < options_.variables; ++v) {
    const auto index = static_cast<std::size_t>(v);
    const std::array<int, kDimsOfVariable> shape{dims[index % kDims],
                                                 dims[(index / kDims) % kDims]};
    int id = 0;
    check(ncmpi_def_var(ncid, names_[index].c_str(), NC_FLOAT, kDimsOfVariable, shape.data(), &id),
          "def_var");
    for (int a = 0; a < options_.attributes; ++a) {
      const char* name = att_names_[static_cast<std::size_t>(a)].c_str();
      if (is_text(a)) {
        const std::string text = text_of(v, a);
        check(ncmpi_put_att_text(ncid, id, name, static_cast<MPI_Offset>(text.size()), text.data()),
              "put_att_text");
      } else {
        const double number = number_of(v, a);
        check(ncmpi_put_att_double(ncid, id, name, NC_DOUBLE, 1, &number), "put_att_double");
      }
    }
  }
  phases.mark("define");
  check(ncmpi_enddef(ncid), "enddef");
  phases.mark("enddef");
  check(ncmpi_close(ncid), "close");
  phases.mark("close");
}

void MetadataWorkload::read(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  check(ncmpi_open(team_.comm, path.c_str(), NC_NOWRITE, info, &ncid), "open");
  phases.mark("open");
  int variables = 0;
  check(ncmpi_inq_nvars(ncid, &variables), "inq_nvars");
  found_.resize(static_cast<std::size_t>(variables));
  std::array<char, NC_MAX_NAME + 1> name{};
  std::array<int, kRoomForDims> dims{};
  for (int v = 0; v < variables; ++v) {
    Found& found = found_[static_cast<std::size_t>(v)];
    nc_type type = NC_NAT;
    int natts = 0;
    check(ncmpi_inq_var(ncid, v, name.data(), &type, &found.dims, dims.data(), &natts), "inq_var");
    found.name = name.data();
    int id = -1;
    check(ncmpi_inq_varid(ncid, name.data(), &id), "inq_varid");
    for (int a = 0; a < natts; ++a) {
      MPI_Offset length = 0;
      check(ncmpi_inq_attname(ncid, id, a, name.data()), "inq_attname");
      check(ncmpi_inq_att(ncid, id, name.data(), &type, &length), "inq_att");
      if (type == NC_CHAR) {
        found.texts.emplace_back(static_cast<std::size_t>(length), ' ');
        check(ncmpi_get_att_text(ncid, id, name.data(), found.texts.back().data()), "get_att_text");
      } else {
        found.numbers.push_back(0);
        check(ncmpi_get_att_double(ncid, id, name.data(), &found.numbers.back()), "get_att_double");
      }
    }
  }
  phases.mark("inquire");
  check(ncmpi_close(ncid), "close");
  phases.mark("close");
}

std::int64_t MetadataWorkload::verify() {
  std::int64_t wrong = found_.size() != names_.size();
  for (int v = 0; v < options_.variables && static_cast<std::size_t>(v) < found_.size(); ++v) {
    const Found& found = found_[static_cast<std::size_t>(v)];
    std::vector<std::string> texts;
    std::vector<double> numbers;
    for (int a = 0; a < options_.attributes; ++a) {
      if (is_text(a)) {
        texts.push_back(text_of(v, a));
      } else {
        numbers.push_back(number_of(v, a));
      }
    }
    wrong += found.name != names_[static_cast<std::size_t>(v)] || found.dims != kDimsOfVariable;
    wrong += found.texts != texts || found.numbers != numbers;
  }
  return wrong;
}

}  // namespace forebay::bench
