#include "tm/core/configuration.h"

#include "tm/core/adaptive.h"
#include "tm/core/contention.h"
#include "tm/core/quick.h"
#include "tm/core/regime.h"

#include "tm/core/engine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace syncopate::tm {

namespace {

// Adaptive: no algorithm of its own; which others it moves between is in adaptive.cpp.
constexpr const char* adaptive_name = "auto";
// Hardware transactions first: alone, or before the algorithm that is the fall-back ("htm+lazy").
constexpr char hardware_name[] = "htm";
constexpr std::size_t hardware_length = sizeof hardware_name - 1;
const char* chosen = adaptive_name;
const char* before_it = "";  // "htm+" where hardware transactions are

const operations* find(const char* name, std::size_t length) noexcept {
  for (const operations* const* a = algorithms; *a != nullptr; ++a)
    if (std::strlen((*a)->name) == length && std::strncmp((*a)->name, name, length) == 0) return *a;
  return nullptr;
}

// The same, with "htm" and "htm+" understood.
const operations* find_with_hardware(const char* name, std::size_t length,
                                     bool& hardware) noexcept {
  hardware = false;
  if (length < hardware_length || std::strncmp(name, hardware_name, hardware_length) != 0)
    return find(name, length);
  const operations* fallback = nullptr;
  if (length == hardware_length) fallback = parts.behind_hardware;
  else if (name[hardware_length] == '+')
    fallback = find(name + hardware_length + 1, length - hardware_length - 1);
  hardware = fallback != nullptr;
  return fallback;
}

void complain(const char* what, const char* value) noexcept {
  std::fprintf(stderr, "syncopate: SYNCOPATE_TM: no %s is called '%s'; there are:", what, value);
}

void list_algorithms() noexcept {
  std::fprintf(stderr, " %s %s", adaptive_name, hardware_name);
  for (const operations* const* a = algorithms; *a != nullptr; ++a)
    std::fprintf(stderr, " %s", (*a)->name);
  std::fputs(" (using auto)\n", stderr);
}

void choose(const operations* algorithm, bool hardware) noexcept {
  chosen = algorithm->name;
  if (hardware) before_it = "htm+";
  now.may_be_solo = algorithm->may_be_solo;
  now.choose(algorithm->is_in_turn ? nullptr : algorithm, hardware);
}

void choose_manager(const char* name) noexcept {
  if (contention::choose(name)) return;
  complain("contention manager", name);
  contention::list(stderr);
}

// What SYNCOPATE_TM says.
void follow(const char* value) noexcept {
  const std::size_t length = std::strcspn(value, ":");
  bool hardware = false;
  if (const operations* const algorithm = find_with_hardware(value, length, hardware)) {
    adaptive::on = false;
    choose(algorithm, hardware);
  } else if (std::strlen(adaptive_name) != length ||
             std::strncmp(value, adaptive_name, length) != 0) {
    complain("algorithm", value);
    list_algorithms();
  }
  if (value[length] == ':') choose_manager(value + length + 1);
}

bool is_on(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
}

}  // namespace

const char* algorithm_name() noexcept { return chosen; }

void configure() noexcept {
  const char* const value = std::getenv("SYNCOPATE_TM");
  if (is_on("SYNCOPATE_TM_STATISTICS")) std::atexit(print_statistics);
  adaptive::on = true;
  now.may_be_quick = quick::possible;
  if (value != nullptr && *value != '\0') follow(value);
  if (is_on("SYNCOPATE_VERBOSE"))
    std::fprintf(stderr, "syncopate: transactions of this program: %s%s\n", before_it, chosen);
}

}  // namespace syncopate::tm
