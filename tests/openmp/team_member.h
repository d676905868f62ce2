// team_member.h -- threads of an OpenMP team, no runtime: what products/openmp/teams/team_wait.h
// asks of the library, and the frame of one thread. For one translation unit of a program.
#pragma once

#include "openmp/teams/team_wait.h"

namespace syncopate::openmp {

constinit configuration config;
thread_local constinit frame* current = nullptr;
bool oversubscribed() noexcept { return false; }

// This thread is one of a team of two, in the phase that all are in.
class member {
 public:
  member(team& in, std::uint32_t id) {
    mine_.in = &in;
    mine_.threads = 2;
    mine_.id = id;
    mine_.phase = 1;
    current = &mine_;
  }
  ~member() { current = nullptr; }
  member(const member&) = delete;
  member& operator=(const member&) = delete;

 private:
  frame mine_;
};

}  // namespace syncopate::openmp
