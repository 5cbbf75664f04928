#include <algorithm>
#include <string>
#include <vector>

#include "array/type.h"
#include "base/error.h"
#include "base/last_message.h"
#include "checkpoints/api/checkpoint_fortran.h"
#include "checkpoints/api/open_store.h"

using namespace forebay;  // NOLINT(google-build-using-namespace)

namespace {

void require_elements(int store, int var, std::int64_t elements) {
  const checkpoint::Part& part = checkpoint::store_of(store).variable(var);
  const Count there = part.raw_bytes() / size_of(part.type);
  if (elements >= 0 && elements != there)
    throw Error(Errc::einval,
                "variable " + part.name + " has " + std::to_string(there) +
                    " elements, and the array has " + std::to_string(elements),
                "give an array of its shape");
}

}  // namespace

int forebay_f_checkpoint_open_mpi(MPI_Fint comm, const char* name, const char* hints, int* store) {
  return forebay_checkpoint_open_mpi(MPI_Comm_f2c(comm), name, hints, store);
}

int forebay_f_checkpoint_var(int store, const char* name, const char* type, int ndims,
                             const std::int64_t* shape, const char* codec, int contiguous,
                             void* memory, int* var) {
  std::vector<std::int64_t> turned;
  const int code = guard([&] {
    if (contiguous == 0)
      throw Error(Errc::einval, std::string("the memory of ") + name + " has gaps",
                  "declare its shape alone, and put it");
    turned.assign(shape, shape + ndims);
    std::reverse(turned.begin(), turned.end());
  });
  if (code != 0) return code;
  return forebay_checkpoint_var(store, name, type, ndims, turned.data(),
                                *codec == '\0' ? nullptr : codec, memory, var);
}

int forebay_f_checkpoint_put(int store, int var, std::int64_t elements, const void* values) {
  const int code = guard([&] { require_elements(store, var, elements); });
  return code != 0 ? code : forebay_checkpoint_put(store, var, values);
}

int forebay_f_checkpoint_get(int store, int var, std::int64_t elements, void* values) {
  const int code = guard([&] { require_elements(store, var, elements); });
  return code != 0 ? code : forebay_checkpoint_get(store, var, values);
}
