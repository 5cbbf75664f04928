#include "files/hdf5/open.h"

#include "base/error.h"
#include "base/text_table.h"
#include "files/bp_source.h"
#include "files/hdf5/source.h"

namespace forebay {

std::unique_ptr<Source> open_source(const std::string& path, const std::string& group,
                                    Strings strings) {
  if (is_hdf5_file(path)) return open_hdf5(path, group, strings);
  auto source = is_bp(path) ? open_bp(path, strings) : open_classic(path);
  if (!group.empty() && group != "/")
    throw Error(Errc::enogrp, printable(path) + ": a " + source->format() + " file has no groups",
                "leave out --group");
  return source;
}

}  // namespace forebay
