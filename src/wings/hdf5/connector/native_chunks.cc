#include "hdf5/connector/native_chunks.h"

#include "base/attempt.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {

void dataset_optional(const UnderObject& dataset, int what,
                      H5VL_native_dataset_optional_args_t& native, const char* doing) {
  H5VL_optional_args_t args{what, &native};
  if (H5VLdataset_optional(dataset.object, dataset.connector, &args, H5P_DATASET_XFER_DEFAULT,
                           nullptr) < 0)
    throw_hdf5(doing);
}

void for_each_chunk(const UnderObject& dataset, const UseChunk& use) {
  struct Context {
    const UseChunk& use;
    std::optional<Error> failed;
  } context{use, {}};
  H5VL_native_dataset_optional_args_t native{};
  native.chunk_iter.op = [](const hsize_t* offset, unsigned mask, haddr_t place, hsize_t bytes,
                            void* data) -> int {
    auto& its = *static_cast<Context*>(data);
    its.failed = attempt_to(
        [&] { its.use(offset, mask, static_cast<Offset>(place), static_cast<Count>(bytes)); });
    return its.failed ? H5_ITER_ERROR : H5_ITER_CONT;
  };
  native.chunk_iter.op_data = &context;
  const auto refused = attempt_to([&] {
    dataset_optional(dataset, H5VL_NATIVE_DATASET_CHUNK_ITER, native, "asking for chunks");
  });
  if (context.failed) throw *context.failed;
  if (refused) throw *refused;
}

}  // namespace forebay::vol
