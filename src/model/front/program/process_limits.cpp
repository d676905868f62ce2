#include "model/front/program/process_limits.h"

#include <cerrno>
#include <cstring>

#include <sys/prctl.h>

#include "model/front/program/options.h"
#include "model/front/pthread/real.h"

namespace syncopate::instrument {

namespace {

void wants(bool done, const char* what) {
  if (!done)
    fail("the program has changed its %s for good (%s): another execution would begin with it",
         what, std::strerror(errno));
}

}  // namespace

void process_limits::keep_limit(int resource) {
  rlimit before{};
  if (limits_.count(resource) == 0 &&
      ::getrlimit(static_cast<__rlimit_resource>(resource), &before) == 0)
    limits_[resource] = before;
}

void process_limits::keep_priority() {
  if (!priority_) priority_ = ::getpriority(PRIO_PROCESS, 0);
}

void process_limits::keep_name() {
  if (name_) return;
  name_.emplace();
  SYNCOPATE_REAL(prctl)(PR_GET_NAME, name_->text);
}

void process_limits::keep_signal_stack() {
  if (signal_stack_) return;
  signal_stack_.emplace();
  SYNCOPATE_REAL(sigaltstack)(nullptr, &*signal_stack_);
}

void process_limits::keep_attributes() {
  if (attributes_) return;
  attributes_.emplace();
  SYNCOPATE_REAL(pthread_getattr_default_np)(&*attributes_);
}

void process_limits::restore() {
  for (const auto& [resource, limit] : limits_)
    wants(SYNCOPATE_REAL(setrlimit)(static_cast<__rlimit_resource>(resource), &limit) == 0,
          "limits");
  limits_.clear();
  if (priority_) wants(SYNCOPATE_REAL(setpriority)(PRIO_PROCESS, 0, *priority_) == 0, "priority");
  priority_.reset();
  if (name_) SYNCOPATE_REAL(prctl)(PR_SET_NAME, name_->text);
  name_.reset();
  if (signal_stack_) SYNCOPATE_REAL(sigaltstack)(&*signal_stack_, nullptr);
  signal_stack_.reset();
  if (attributes_) {
    SYNCOPATE_REAL(pthread_setattr_default_np)(&*attributes_);
    ::pthread_attr_destroy(&*attributes_);
  }
  attributes_.reset();
}

}  // namespace syncopate::instrument
