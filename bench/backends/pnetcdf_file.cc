// Dense arrays through PnetCDF's interface: every block is posted and one wait_all moves them, or
// each block is moved by a blocking collective call.

#include <stdexcept>

#include "backends/array_file.h"
#include "backends/backend.h"

// Forebay's additions, which the peer lacks: null where the linked library has none.
extern "C" {
__attribute__((weak)) int ncmpi_var_set_chunk(int ncid, int varid, const MPI_Offset* chunk);
__attribute__((weak)) int ncmpi_var_set_filter(int ncid, int varid, const char* pipeline);
}

namespace forebay::bench {
namespace {

nc_type external_type(Element type) {
  switch (type) {
    case Element::Int:
      return NC_INT;
    case Element::Float:
      return NC_FLOAT;
    default:
      return NC_DOUBLE;
  }
}

class PnetcdfFile final : public ArrayFile {
 public:
  PnetcdfFile(int ncid, ArrayStorage storage) : ncid_(ncid), storage_(std::move(storage)) {}

  void define(std::span<const ArrayVariable> variables) override {
    variables_ = variables;
    for (const ArrayVariable& variable : variables) define_variable(variable);
    check(ncmpi_enddef(ncid_), "enddef");
    begin_transfers();
  }

  void find(std::span<const ArrayVariable> variables) override {
    variables_ = variables;
    for (const ArrayVariable& variable : variables) {
      check(ncmpi_inq_varid(ncid_, variable.name.c_str(), &var_ids_.emplace_back()),
            variable.name.c_str());
    }
    begin_transfers();
  }

  void write(std::span<const ArrayBlock> blocks) override { transfer(blocks, true); }
  void read(std::span<const ArrayBlock> blocks) override { transfer(blocks, false); }

  void close() override {
    if (storage_.independent) check(ncmpi_end_indep_data(ncid_), "end_indep_data");
    check(ncmpi_close(ncid_), "close");
  }

 private:
  void begin_transfers() {
    if (storage_.independent) check(ncmpi_begin_indep_data(ncid_), "begin_indep_data");
  }

  // Dimensions have their place and length as name, so that variables of one shape share them.
  int dimension(std::size_t place, MPI_Offset length) {
    const std::string name = "d" + std::to_string(place) + "_" + std::to_string(length);
    int id = 0;
    if (ncmpi_inq_dimid(ncid_, name.c_str(), &id) == NC_NOERR) return id;
    check(ncmpi_def_dim(ncid_, name.c_str(), length, &id), name.c_str());
    return id;
  }

  void define_variable(const ArrayVariable& variable) {
    const char* name = variable.name.c_str();
    std::vector<int> dims;
    for (std::size_t d = 0; d < variable.shape.size(); ++d) {
      dims.push_back(dimension(d, variable.shape[d]));
    }
    int id = 0;
    check(ncmpi_def_var(ncid_, name, external_type(variable.type), static_cast<int>(dims.size()),
                        dims.data(), &id),
          name);
    var_ids_.push_back(id);
    if (storage_.chunked) {
      if (!ncmpi_var_set_chunk) throw std::runtime_error("this library stores no chunks");
      check(ncmpi_var_set_chunk(ncid_, id, variable.chunk.data()), name);
    }
    if (!storage_.codec.empty()) {
      if (!ncmpi_var_set_filter) throw std::runtime_error("this library has no filters");
      check(ncmpi_var_set_filter(ncid_, id, storage_.codec.c_str()), name);
    }
  }

  void transfer(std::span<const ArrayBlock> blocks, bool put) {
    if (storage_.blocking) {
      for (const ArrayBlock& block : blocks) move(block, put);
      return;
    }
    for (const ArrayBlock& block : blocks) {
      if (block.box.elements() > 0) post(block, put);
    }
    check(ncmpi_wait_all(ncid_, NC_REQ_ALL, nullptr, nullptr), "wait_all");
  }

  void move(const ArrayBlock& block, bool put) {
    const int id = var_ids_[block.variable];
    const MPI_Offset* start = block.box.start.data();
    const MPI_Offset* count = block.box.count.data();
    int status = NC_NOERR;
    const auto call = [&](auto* data, auto put_all, auto get_all, auto put_own, auto get_own) {
      if (put) {
        status = (storage_.independent ? put_own : put_all)(ncid_, id, start, count, data);
      } else {
        status = (storage_.independent ? get_own : get_all)(ncid_, id, start, count, data);
      }
    };
    switch (variables_[block.variable].type) {
      case Element::Int:
        call(reinterpret_cast<int*>(block.data), ncmpi_put_vara_int_all, ncmpi_get_vara_int_all,
             ncmpi_put_vara_int, ncmpi_get_vara_int);
        break;
      case Element::Float:
        call(reinterpret_cast<float*>(block.data), ncmpi_put_vara_float_all,
             ncmpi_get_vara_float_all, ncmpi_put_vara_float, ncmpi_get_vara_float);
        break;
      case Element::Double:
        call(reinterpret_cast<double*>(block.data), ncmpi_put_vara_double_all,
             ncmpi_get_vara_double_all, ncmpi_put_vara_double, ncmpi_get_vara_double);
        break;
    }
    check(status, variables_[block.variable].name.c_str());
  }

  void post(const ArrayBlock& block, bool put) {
    const int id = var_ids_[block.variable];
    const MPI_Offset* start = block.box.start.data();
    const MPI_Offset* count = block.box.count.data();
    int status = NC_NOERR;
    const auto call = [&](auto* data, auto iput_vara, auto iget_vara) {
      status = put ? iput_vara(ncid_, id, start, count, data, nullptr)
                   : iget_vara(ncid_, id, start, count, data, nullptr);
    };
    switch (variables_[block.variable].type) {
      case Element::Int:
        call(reinterpret_cast<int*>(block.data), ncmpi_iput_vara_int, ncmpi_iget_vara_int);
        break;
      case Element::Float:
        call(reinterpret_cast<float*>(block.data), ncmpi_iput_vara_float, ncmpi_iget_vara_float);
        break;
      case Element::Double:
        call(reinterpret_cast<double*>(block.data), ncmpi_iput_vara_double, ncmpi_iget_vara_double);
        break;
    }
    check(status, variables_[block.variable].name.c_str());
  }

  int ncid_;
  ArrayStorage storage_;
  std::span<const ArrayVariable> variables_;
  std::vector<int> var_ids_;
};

}  // namespace

std::unique_ptr<ArrayFile> create_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                             const ArrayStorage& storage) {
  int ncid = 0;
  check(ncmpi_create(comm, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid), "create");
  return std::make_unique<PnetcdfFile>(ncid, storage);
}

std::unique_ptr<ArrayFile> open_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                           const ArrayStorage& storage) {
  int ncid = 0;
  check(ncmpi_open(comm, path.c_str(), NC_NOWRITE, info, &ncid), "open");
  return std::make_unique<PnetcdfFile>(ncid, storage);
}

}  // namespace forebay::bench
