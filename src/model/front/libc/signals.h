// signals.h -- signals of a program on a machine that says when they come (engine::has_signals()).
//
// Those that the program sends itself - kill, raise, pthread_kill, its timers - are kept here until
// a thread that lets them in is at an operation of its own; so are those that come from outside,
// whose native handler only takes a note. Faults, SIGABRT, and what cannot be caught or is used by
// this library stay the system's (is_system_signal).
#pragma once

#include <csignal>
#include <cstdint>

#include "model/front/engine.h"

namespace syncopate::instrument {

using signal_bits = std::uint64_t;

// ---- asked by the machine -----------------------------------------------------------------------

// Calls the handlers of what has come for the calling thread; returns whether there were any.
bool take_signals();
void ring_alarms(std::uint64_t now);  // nanoseconds of CLOCK_MONOTONIC; by the machine itself
void take_outside();

// Whether one came from outside that take_outside() has not taken yet.
bool outside_waits();

// ---- for calls that wait ------------------------------------------------------------------------

// What handlers have ended of the calling thread's waits: those that each signal ends, and those
// that begin anew where SA_RESTART is set.
struct interruptions {
  std::uint64_t handlers = 0, without_restart = 0;
};
interruptions interruptions_so_far();
// Takes what has come; whether a handler has run since then.
bool ended_by_signal(const interruptions& before);
bool ended_without_restart(const interruptions& before);

// ---- sending ------------------------------------------------------------------------------------

bool is_system_signal(int signal);
// Whether the signal, sent by the program itself, is one that is kept here.
bool is_kept(int signal);

// thread: its index, or -1 for any of the process. timer: by which one it is sent, else -1.
void send_signal(const siginfo_t&, int thread, int timer = -1);
// By the calling thread, which then takes what it lets in. To one thread: ENOSYS for a signal that
// is not kept here.
void send_by_program(const siginfo_t&, int thread);
// Where the machine does not say when signals come: one that the program sends to another thread,
// or to any while there are several, and that has a handler. Its verdict says so.
void note_unmodeled(int signal);
inline bool any_is_unmodeled = false;  // in any execution
// What a file of signalfd's reads: it is the system's, which gets these while all threads block
// them.
void note_signal_file(signal_bits);
int send_to_thread(unsigned index, int signal, const sigval*);
siginfo_t sent_by_user(int signal);

// ---- masks --------------------------------------------------------------------------------------

signal_bits bits_of(const sigset_t&);
sigset_t set_of(signal_bits);
signal_bits signal_mask();  // of the calling thread
void set_signal_mask(signal_bits);
void begin_signals(unsigned thread, signal_bits mask);  // a new thread's, from its maker
void end_signals(unsigned thread);

// ---- waiting for one ----------------------------------------------------------------------------

signal_bits pending_signals();
// A signal of the set that has come for the calling thread is taken; false: none has.
bool take_pending(signal_bits of, siginfo_t&);
void set_awaited(signal_bits);  // by the calling thread, in sigwait

// ---- actions ------------------------------------------------------------------------------------

int set_action(int signal, const struct sigaction* wanted, struct sigaction* before);

// ---- timers (libc_timers.cpp) -------------------------------------------------------------------

bool any_timer_sends(signal_bits);  // an armed one
void timer_overran(int timer, int times);
void timer_was_taken(int timer, siginfo_t&);
// In a child of fork: it has none of its parent's.
void forget_timers();

}  // namespace syncopate::instrument
