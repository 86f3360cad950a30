#include "replay/meeting.h"

#include <flor/store/error.h>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace flor::cli {

Meeting Meeting::arrange() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = socket >= 0 &&
                     ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int error = errno;
  if (socket >= 0) ::close(socket);
  if (!bound) {
    throw Error(fmt::format("no port for the ranks of a worker: {}", std::strerror(error)));
  }
  Meeting meeting;
  meeting.port_ = ntohs(address.sin_port);
  return meeting;
}

std::map<std::string, std::string> Meeting::variables(const store::RankPlace& place) const {
  const std::string rank = std::to_string(place.rank), world = std::to_string(place.world);
  std::map<std::string, std::string> variables;
  for (const char* name : {"RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID"}) {
    variables[name] = rank;
  }
  for (const char* name :
       {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"}) {
    variables[name] = world;
  }
  if (port_ > 0) {
    variables["MASTER_ADDR"] = "127.0.0.1";
    variables["MASTER_PORT"] = std::to_string(port_);
  }
  return variables;
}

}  // namespace flor::cli
