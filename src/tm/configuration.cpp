#include "tm/configuration.h"

#include "tm/adaptive.h"
#include "tm/parts/contention.h"
#include "tm/regime.h"

#include "tm/engine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace syncopate::tm {

extern const operations global_lock_operations, irrevocable_operations, norec_operations;

namespace {

// Adaptive: no algorithm of its own; which others it moves between is in adaptive.cpp.
constexpr const char* adaptive_name = "auto";
const char* chosen = adaptive_name;

const operations* find(const char* name, std::size_t length) noexcept {
  for (const operations* const* a = algorithms; *a != nullptr; ++a)
    if (std::strlen((*a)->name) == length && std::strncmp((*a)->name, name, length) == 0) return *a;
  return nullptr;
}

void complain(const char* what, const char* value) noexcept {
  std::fprintf(stderr, "syncopate: SYNCOPATE_TM: no %s is called '%s'; there are:", what, value);
}

void list_algorithms() noexcept {
  std::fprintf(stderr, " %s", adaptive_name);
  for (const operations* const* a = algorithms; *a != nullptr; ++a)
    std::fprintf(stderr, " %s", (*a)->name);
  std::fputs(" (using auto)\n", stderr);
}

void choose(const operations* algorithm) noexcept {
  chosen = algorithm->name;
  const bool takes_lock =
      algorithm == &global_lock_operations || algorithm == &irrevocable_operations;
  now.may_be_solo = algorithm != &irrevocable_operations;
  now.choose(takes_lock ? nullptr : algorithm);
}

void choose_manager(const char* name) noexcept {
  if (contention::choose(name)) return;
  complain("contention manager", name);
  contention::list(stderr);
}

}  // namespace

const operations* const algorithms[] = {&global_lock_operations, &norec_operations,
                                        &irrevocable_operations, nullptr};

const char* algorithm_name() noexcept { return chosen; }

void configure() noexcept {
  const char* const value = std::getenv("SYNCOPATE_TM");
  if (std::getenv("SYNCOPATE_TM_STATISTICS") != nullptr) std::atexit(print_statistics);
  adaptive::on = true;
  if (value == nullptr || *value == '\0') return;
  const std::size_t length = std::strcspn(value, ":");
  if (const operations* const algorithm = find(value, length)) {
    adaptive::on = false;
    choose(algorithm);
  } else if (std::strlen(adaptive_name) != length || std::strncmp(value, adaptive_name, length) != 0) {
    complain("algorithm", value);
    list_algorithms();
  }
  if (value[length] == ':') choose_manager(value + length + 1);
}

}  // namespace syncopate::tm
