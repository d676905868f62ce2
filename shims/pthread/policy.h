// policy.h -- L4: what the user wants of single locks (SYNCOPATE_SITES, written by `syncopate run
// --policy`): by the variable that a lock is, or by the function that creates it.
//
//   SYNCOPATE_SITES = site;site;...     site = KIND,MODULE,START,END,SETTING
//   KIND     v  the lock lies in the variable [START, END)
//            c  its init call returns to [START, END): the function that creates it
//   MODULE   path of the program or library; START, END: link-time addresses, hexadecimal
//   SETTING  elide=always | elide=off
//
// A lock asks once: at its init call, or at its first use. The answer lies in the lock.
#pragma once

#include <cstdint>

namespace syncopate::shim {

// Bits in the place of a lock that its owner gives us; all zero: not asked yet.
enum choice : std::uint16_t { asked = 4, never_elide = 8, always_elide = 16 };

// Reads the variable. Before that, and without it, there are no sites. By the constructor: modules
// must be loaded; those that come later are not looked at.
void read_policy() noexcept;

extern constinit bool has_policy;

// The choice for a lock at `object`, `asked` among its bits; `creator`: return address of its init
// call, null where that is over. Requires: has_policy.
std::uint16_t choose(const void* object, const void* creator) noexcept;

}  // namespace syncopate::shim
