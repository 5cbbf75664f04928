// Compares describe, pack and unpack with what MPI itself does, on random derived datatypes of all
// constructions.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/datatype.h"

namespace {

using forebay::DatatypeMap;

int failures = 0;
int darrays = 0;
int compared = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  if (++failures <= 20) std::fprintf(stderr, "%s\n", what.c_str());
}

std::mt19937 engine(11);

int below(int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); }

MPI_Datatype derived(MPI_Datatype base, int depth);

MPI_Datatype construct(MPI_Datatype old) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int lengths[3], places[3];
  MPI_Aint bytes[3], lower = 0, extent = 0;
  MPI_Datatype olds[3] = {old, old, old};
  MPI_Type_get_extent(old, &lower, &extent);
  int at = 0;
  for (int i = 0; i < 3; ++i) {
    lengths[i] = below(3);
    places[i] = at + below(3);
    bytes[i] = places[i] * extent;
    at = places[i] + lengths[i];
  }
  int sizes[3], counts[3], starts[3];
  for (int d = 0; d < 3; ++d) {
    sizes[d] = 1 + below(4);
    counts[d] = 1 + below(sizes[d]);
    starts[d] = below(sizes[d] - counts[d] + 1);
  }
  const int order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  switch (below(12)) {
    case 0:
      MPI_Type_contiguous(below(4), old, &type);
      break;
    case 1:
      MPI_Type_vector(1 + below(3), 1 + below(2), 2 + below(3), old, &type);
      break;
    case 2:
      MPI_Type_create_hvector(1 + below(3), 1, extent * (1 + below(3)), old, &type);
      break;
    case 3:
      MPI_Type_indexed(3, lengths, places, old, &type);
      break;
    case 4:
      MPI_Type_create_hindexed(3, lengths, bytes, old, &type);
      break;
    case 5:
      places[1] = places[0] + 2;
      places[2] = places[1] + 2 + below(2);
      MPI_Type_create_indexed_block(3, 2, places, old, &type);
      break;
    case 6:
      bytes[1] = bytes[0] + 2 * extent;
      bytes[2] = bytes[1] + 3 * extent;
      MPI_Type_create_hindexed_block(3, 2, bytes, old, &type);
      break;
    case 7:
      MPI_Type_create_struct(3, lengths, bytes, olds, &type);
      break;
    case 8:
      MPI_Type_create_subarray(3, sizes, counts, starts, order, old, &type);
      break;
    case 9:
      MPI_Type_create_resized(old, lower, extent + 8 * below(3), &type);
      break;
    case 10:
      MPI_Type_dup(old, &type);
      break;
    default: {
      const int kinds[3] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
      int distributions[2], arguments[2], processes[2], global[2];
      for (int d = 0; d < 2; ++d) {
        distributions[d] = kinds[below(3)];
        processes[d] = distributions[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + below(3);
        arguments[d] = distributions[d] == MPI_DISTRIBUTE_CYCLIC && below(2)
                           ? 1 + below(2)
                           : MPI_DISTRIBUTE_DFLT_DARG;
        global[d] = 4 + below(6);
      }
      const int all = processes[0] * processes[1];
      // Some versions of MPI refuse this over empty types.
      if (MPI_Type_create_darray(all, below(all), 2, global, distributions, arguments, processes,
                                 order, old, &type) != MPI_SUCCESS) {
        MPI_Type_dup(old, &type);
      } else {
        ++darrays;
      }
    }
  }
  return type;
}

MPI_Datatype derived(MPI_Datatype base, int depth) {
  MPI_Datatype type = construct(base);
  for (int i = 1; i < depth; ++i) {
    MPI_Datatype next = construct(type);
    MPI_Type_free(&type);
    type = next;
  }
  MPI_Type_commit(&type);
  return type;
}

void compare(MPI_Datatype type, int round) {
  const std::string name = "round " + std::to_string(round);
  const DatatypeMap map = forebay::describe(type);
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_size(type, &size);
  MPI_Type_get_extent(type, &lower, &extent);
  expect(map.size == size,
         name + ": size " + std::to_string(map.size) + ", MPI says " + std::to_string(size));
  expect(map.extent == extent, name + ": extent");

  constexpr int instances = 3;
  constexpr forebay::Offset middle = 1 << 14;
  for (const auto& r : map.runs) {
    const auto first = r.offset, last = r.offset + r.length + 2 * map.extent;
    if (first < -middle || last > middle) return;  // too large to try
  }
  ++compared;
  std::vector<std::byte> memory(2 * middle), mine(static_cast<std::size_t>(map.size) * instances),
      theirs = mine;
  for (auto& b : memory) b = static_cast<std::byte>(engine());
  int position = 0;
  if (!mine.empty()) {
    MPI_Pack(memory.data() + middle, instances, type, theirs.data(),
             static_cast<int>(theirs.size()), &position, MPI_COMM_SELF);
    forebay::pack(map, instances, memory.data() + middle, mine.data());
  }
  expect(mine == theirs, name + ": packed bytes differ");

  std::vector<std::byte> here(2 * middle), there = here;
  position = 0;
  if (!mine.empty()) {
    MPI_Unpack(theirs.data(), static_cast<int>(theirs.size()), &position, there.data() + middle,
               instances, type, MPI_COMM_SELF);
    forebay::unpack(map, instances, mine.data(), here.data() + middle);
  }
  expect(here == there, name + ": unpacked bytes differ");
}

forebay::Errc code_of(MPI_Datatype type) {
  try {
    forebay::describe(type);
  } catch (const forebay::Error& e) {
    return e.code();
  }
  return forebay::Errc::ok;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const MPI_Datatype bases[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
  for (int round = 0; round < 3000; ++round) {
    MPI_Datatype type = derived(bases[below(4)], 1 + below(3));
    compare(type, round);
    MPI_Type_free(&type);
  }

  MPI_Datatype mixed = MPI_DATATYPE_NULL;
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {0, 8};
  MPI_Datatype parts[2] = {MPI_INT, MPI_FLOAT};
  MPI_Type_create_struct(2, lengths, places, parts, &mixed);
  expect(code_of(mixed) == forebay::Errc::emultitypes, "a mixed struct is not refused");
  MPI_Type_free(&mixed);
  expect(code_of(MPI_2INT) == forebay::Errc::eunsptetype, "MPI_2INT is not refused");
  expect(code_of(MPI_DATATYPE_NULL) == forebay::Errc::etype_mismatch,
         "MPI_DATATYPE_NULL is not refused");
  expect(darrays > 100, "no distributed arrays were made");
  expect(compared > 1000, "too few datatypes were small enough");
  std::printf("%d datatypes, %d failures\n", compared, failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
