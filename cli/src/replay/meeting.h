// Where the ranks of one worker find each other: on this machine, whoever recorded them where.
#pragma once

#include <flor/store/catalog.h>

#include <map>
#include <string>

namespace flor::cli {

class Meeting {
 public:
  /// A port on the loopback interface that is free now. Throws Error if there is none. Whoever
  /// takes it before the ranks do makes them fail, and they are started again on another one.
  static Meeting arrange();

  /// What a rank finds in its environment, by the names of torchrun and of Slurm. Without a port (a
  /// default Meeting) there is nobody to meet, and rank and number of ranks are said all the same.
  std::map<std::string, std::string> variables(const store::RankPlace& place) const;

 private:
  int port_ = 0;
};

}  // namespace flor::cli
