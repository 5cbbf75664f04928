#include "comm/session.h"

namespace forebay {

bool launched_by_mpi() { return false; }

Session::Session() = default;
Session::~Session() = default;

}  // namespace forebay
