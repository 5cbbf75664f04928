// Makes references in kerchunk's format (version 1): where in a file the chunks of a Zarr array
// are. With them zarr and xarray read the file through fsspec, without Forebay.
//
// A variable in classic layout is cut into contiguous parts; one record is a chunk. Chunked
// variables are referenced chunk by chunk if Zarr has their codecs (shuffle, deflate, zstd,
// float32). Zarr needs all chunks of an array to be whole and encoded alike. So chunks that end
// with a dimension, or were stored without encoding, are put into the references themselves, in
// base64.
#pragma once

#include <string>
#include <vector>

#include "files/classic_file.h"

namespace forebay {

struct ReferenceOptions {
  std::string url;                ///< stands for the file in the references; empty: its path
  Count inline_limit = 64 << 20;  ///< total bytes of chunks that may be put into the references
  bool skip = false;              ///< leave out variables that cannot be referenced
};

struct References {
  std::string json;                   ///< one object
  Count variables = 0;                ///< variables in it
  Count references = 0, inlined = 0;  ///< chunks
  Count inlined_bytes = 0;
  std::vector<std::string> left_out;  ///< "T: Zarr cannot decode zfp"
};

/// Errc::enotsupport, unless options.skip, with the names of the variables that cannot be
/// referenced, and why. Errc::enotnc for a damaged index, or a damaged chunk that would be put in.
/// Memory: some 100 bytes for each chunk, the chunks put in, and two chunks.
References make_references(const ClassicFile& file, const ReferenceOptions& options);

}  // namespace forebay
