/* Writes what the tools have to give back from a log: two byte orders, filters, an unlimited
 * dimension that is cut and grows again, fill values, interleaved selections, elements written
 * twice, elements never written, a compound type, attributes, and a dataset that no log takes.
 *
 *   mpiexec -n N log_program FILE [large]
 *
 * large: also datasets of several pieces of what is moved at a time.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                     \
  do {                                                  \
    if ((call) < 0) {                                   \
      fprintf(stderr, "failed at line %d\n", __LINE__); \
      MPI_Abort(MPI_COMM_WORLD, 1);                     \
    }                                                   \
  } while (0)

enum { rows = 96, columns = 512 };

static int rank, ranks;
static hid_t file, collective;

static void put(hid_t dataset, hid_t type, hsize_t row, hsize_t n, hsize_t stride,
                const void* values) {
  const hsize_t start[2] = {row, 0}, count[2] = {n, columns}, step[2] = {stride, 1},
                elements = n * columns;
  const hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &elements, NULL);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, count, NULL));
  CHECK(H5Dwrite(dataset, type, memory, space, collective, values));
  H5Sclose(memory);
  H5Sclose(space);
}

static hid_t make(const char* name, hid_t type, const hsize_t* most, hid_t creation) {
  const hsize_t extents[2] = {rows, columns};
  const hid_t space = H5Screate_simple(2, extents, most);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset);
  H5Sclose(space);
  return dataset;
}

/* Each rank's columns of 24 MB; every seventh row of `holes` is never written. */
static void put_large(const char* name, hid_t creation, int holes) {
  enum { long_rows = 4001, wide = 1500 };
  const hsize_t extents[2] = {long_rows, wide}, mine = wide / (hsize_t)ranks;
  const hsize_t start[2] = {0, (hsize_t)rank * mine};
  const hid_t space = H5Screate_simple(2, extents, NULL);
  const hid_t dataset =
      H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset);
  float* values = malloc(long_rows * mine * sizeof(float));
  for (hsize_t i = 0; i < long_rows * mine; ++i) values[i] = (float)rank * 1e7F + (float)i;
  CHECK(H5Sselect_none(space));
  hsize_t n = 0;
  for (hsize_t row = 0; row < long_rows; row += 7) {
    const hsize_t from[2] = {row, start[1]};
    const hsize_t left = long_rows - row, whole = holes ? 6 : 7;
    const hsize_t count[2] = {left < whole ? left : whole, mine};
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_OR, from, NULL, count, NULL));
    n += count[0] * mine;
  }
  const hid_t memory = H5Screate_simple(1, &n, NULL);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, collective, values));
  free(values);
  CHECK(H5Sclose(memory));
  CHECK(H5Sclose(space));
  CHECK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) return 2;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  collective = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE));
  CHECK(file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access));
  const hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(group);

  static double doubles[rows * columns];
  static int ints[rows * columns];
  static short shorts[rows * columns];
  const hsize_t mine = rows / (hsize_t)ranks;
  for (hsize_t i = 0; i < mine * columns; ++i) {
    doubles[i] = 1000.0 * rank + (double)i / 7;
    ints[i] = rank * 100000 + (int)i;
    shorts[i] = (short)(rank * 10000 + (int)(i % 5000));
  }

  const hid_t big = make("g/big_endian", H5T_IEEE_F64BE, NULL, H5P_DEFAULT);
  put(big, H5T_NATIVE_DOUBLE, (hsize_t)rank, mine, (hsize_t)ranks, doubles); /* interleaved rows */
  const int units = 7;
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(big, "units", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &units));

  const hsize_t chunk[2] = {8, 64}, endless[2] = {H5S_UNLIMITED, columns};
  const int fill = -5;
  const hid_t deflated = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(deflated, 2, chunk));
  CHECK(H5Pset_shuffle(deflated));
  CHECK(H5Pset_deflate(deflated, 4));
  CHECK(H5Pset_fill_value(deflated, H5T_NATIVE_INT, &fill));
  const hid_t grows = make("grows", H5T_STD_I16LE, endless, deflated);
  put(grows, H5T_NATIVE_SHORT, (hsize_t)rank * mine, mine, 1, shorts);
  const hsize_t less[2] = {rows / 2, columns}, more[2] = {rows + 5, columns};
  CHECK(H5Dset_extent(grows, less));
  CHECK(H5Dset_extent(grows, more));
  put(grows, H5T_NATIVE_SHORT, (hsize_t)rank, 1, 1, shorts + columns); /* again */
  CHECK(H5Dclose(grows));

  const hid_t filled = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_fill_value(filled, H5T_NATIVE_INT, &fill));
  const hid_t some = make("some", H5T_STD_I32BE, NULL, filled);
  put(some, H5T_NATIVE_INT, (hsize_t)rank * mine, 1, 1, ints);
  CHECK(H5Dclose(some));
  CHECK(H5Dclose(make("nothing", H5T_STD_U16LE, NULL, filled)));

  struct pair {
    int a;
    double b;
  } pairs[columns];
  for (int i = 0; i < columns; ++i) pairs[i] = (struct pair){rank * 10 + i, i / 3.0};
  const hid_t compound = H5Tcreate(H5T_COMPOUND, sizeof(struct pair));
  CHECK(H5Tinsert(compound, "a", HOFFSET(struct pair, a), H5T_NATIVE_INT));
  CHECK(H5Tinsert(compound, "b", HOFFSET(struct pair, b), H5T_NATIVE_DOUBLE));
  const hid_t packed = H5Tcopy(compound);
  CHECK(H5Tpack(packed));
  const hid_t both = make("pairs", packed, NULL, H5P_DEFAULT);
  put(both, compound, (hsize_t)rank, 1, 1, pairs);
  CHECK(H5Dclose(both));

  const hid_t one =
      H5Dcreate2(file, "scalar", H5T_STD_I64LE, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const long long answer = 42;
  CHECK(H5Dwrite(one, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, collective, &answer));
  CHECK(H5Dclose(one));
  if (argc > 2) {
    const hsize_t tall[2] = {900, 16};
    const hid_t chunked = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(chunked, 2, tall));
    put_large("large", filled, 1);
    put_large("large_chunks", chunked, 1);
    CHECK(
        H5Pset_deflate(chunked, 2));  // level 1 of libdeflate suits these numbers less than zlib's
    put_large("large_deflated", chunked, 0);
  }
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
  put(big, H5T_NATIVE_DOUBLE, (hsize_t)rank * 2, 1, 1,
      doubles); /* after a flush, over what was written */
  CHECK(H5Dclose(big));
  CHECK(H5Aclose(attribute));
  CHECK(H5Gclose(group));
  CHECK(H5Fclose(file));
  H5close();
  MPI_Finalize();
  return 0;
}
