#include "base/error.h"

#include <cstring>

namespace forebay {

Errc code_from_errno(int errnum, Errc fallback) {
  switch (errnum) {
    case ENOSPC:
      return Errc::eno_space;
    case EDQUOT:
      return Errc::equota;
    case ENOENT:
      return Errc::enoent;
    case EEXIST:
      return Errc::eexist;
    case EACCES:
    case EPERM:
      return Errc::eaccess;
    case EROFS:
      return Errc::eperm;
    case ENAMETOOLONG:
    case ELOOP:
      return Errc::ebad_file;
    case EISDIR:
      return Errc::efile;
    case ENOTDIR:
      return Errc::enoent;
    case ENOMEM:
      return Errc::enomem;
    default:
      return fallback;
  }
}

namespace {

const char* advice_for(int errnum) {
  switch (errnum) {
    case ENOSPC:
      return "free space on the device or write elsewhere; what was written before is intact";
    case EDQUOT:
      return "the quota is used up; remove files or write elsewhere";
    case ENOENT:
      return "check the path and that its directory exists";
    case EEXIST:
      return "remove the file or create with NC_CLOBBER";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions of the file and its directory";
    case EMFILE:
    case ENFILE:
      return "too many open files; raise the limit (ulimit -n)";
    default:
      return "";
  }
}

}  // namespace

Error system_error(int errnum, Errc fallback, const std::string& doing, const std::string& path) {
  return Error(code_from_errno(errnum, fallback), doing + " " + path + ": " + std::strerror(errnum),
               advice_for(errnum));
}

}  // namespace forebay
