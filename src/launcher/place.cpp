#include "launcher/place.h"

#include <dirent.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/option.h"

namespace syncopate::launcher {
namespace {

// The real path of this program; "" where nothing tells it.
std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length > 0 && static_cast<std::size_t>(length) < sizeof path)
    return {path, static_cast<std::size_t>(length)};
  const auto* const called = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return called != nullptr && realpath(called, path) != nullptr ? path : std::string{};
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string without_last(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Adds to `found` where the Pythons of this folder of libraries have a wheel's native parts.
void add_wheel_parts(const std::string& library, std::vector<std::string>& found) {
  DIR* const folder = opendir(library.c_str());
  if (folder == nullptr) return;
  while (const dirent* const each = readdir(folder)) {
    const std::string_view name = each->d_name;
    if (!name.starts_with("python3")) continue;
    for (const char* const packages : {"/site-packages", "/dist-packages"}) {
      std::string parts = library + '/' + std::string(name) + packages + "/syncopate/_native";
      if (exists(parts)) found.push_back(std::move(parts));
    }
  }
  closedir(folder);
}

// Where a wheel's native parts are, in the one Python of this prefix that has them; "" where
// several do: which of them is meant, the Python command knows. Fedora's and SUSE's Pythons have
// compiled parts in lib64; in an environment that is a link to lib.
std::string wheel_parts(const std::string& root) {
  std::vector<std::string> found;
  add_wheel_parts(root + "/lib", found);
  if (found.empty()) add_wheel_parts(root + "/lib64", found);
  return found.size() == 1 ? found.front() : std::string{};
}

// Python ignores these from its start, and does not say what was before.
void tell_of_ignored_signals() {
  std::string numbers;
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
      numbers += (numbers.empty() ? "" : " ") + std::to_string(number);
  }
  const char* const told = variable_of(option::ignored);
  numbers.empty() ? unsetenv(told) : setenv(told, numbers.c_str(), 1);
}

}  // namespace

place find_place() {
  const std::string path = own_path();
  if (path.empty()) return {};
  const std::string root = without_last(without_last(path));
  place result{root, root + "/libexec/syncopate/command"};
  // An installed package has links to the native parts, whatever the library folder is called.
  const std::string installed = root + "/share/syncopate/python/syncopate/_native";
  if (exists(installed)) result.prefix = installed;
  if (exists(result.command)) return result;
  // A wheel's command is beside this program, wherever its packages are.
  result.command = path + "-command";
  if (exists(result.command)) {
    result.prefix = wheel_parts(root);
  } else {
    result.command.clear();
  }
  return result;
}

void become_python(const place& at, char** words) {
  if (at.command.empty()) return;
  tell_of_ignored_signals();
  words[0] = const_cast<char*>(at.command.c_str());
  execv(words[0], words);
}

}  // namespace syncopate::launcher
