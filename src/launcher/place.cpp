#include "launcher/place.h"

#include <dirent.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <climits>
#include <csignal>
#include <cstdio>
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

// Where a wheel's native parts are: in the one Python of this prefix that has them, or in the
// prefix itself (`pip install --target`); "" where several have them: which of them is meant, the
// Python command knows. Fedora's and SUSE's Pythons have compiled parts in lib64; in an environment
// that is a link to lib.
std::string wheel_parts(const std::string& root) {
  std::vector<std::string> found;
  if (std::string parts = root + "/syncopate/_native"; exists(parts))
    found.push_back(std::move(parts));
  add_wheel_parts(root + "/lib", found);
  if (found.empty()) add_wheel_parts(root + "/lib64", found);
  return found.size() == 1 ? found.front() : std::string{};
}

// The Python that a script of pip's names, in its first line or, where that would be too long or
// has spaces, behind /bin/sh's exec in its second; "" where it is another script.
std::string python_of(const std::string& script) {
  constexpr std::string_view shell = "/bin/sh\n'''exec' ";
  char start[2 * PATH_MAX];
  std::FILE* const file = std::fopen(script.c_str(), "re");
  if (file == nullptr) return {};
  std::string_view text(start, std::fread(start, 1, sizeof start, file));
  std::fclose(file);
  if (!text.starts_with("#!")) return {};
  text.remove_prefix(2);
  if (text.starts_with(shell)) text.remove_prefix(shell.size());
  const bool quoted = text.starts_with('"');
  if (quoted) text.remove_prefix(1);
  const std::string path(text.substr(0, text.find_first_of(quoted ? "\"\n" : " \n")));
  const bool named = path.starts_with('/') && path.find("/python", path.rfind('/')) != path.npos;
  return named && access(path.c_str(), X_OK) == 0 ? path : std::string{};
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
  place result{root, root + "/libexec/syncopate/command", {}};
  // An installed package has links to the native parts, whatever the library folder is called.
  const std::string installed = root + "/share/syncopate/python/syncopate/_native";
  if (exists(installed)) result.prefix = installed;
  if (exists(result.command)) return result;
  // A wheel's command is beside this program, wherever its packages are.
  result.command = path + "-command";
  if (exists(result.command)) {
    result.prefix = wheel_parts(root);
    const std::string python = python_of(result.command);
    const std::string script = without_last(result.prefix) + "/wheelstart.py";
    if (!python.empty() && exists(script)) result.instead = {python, "-I", "-B", script};
  } else {
    result.command.clear();
  }
  return result;
}

void become_python(const place& at, char** words) {
  if (at.command.empty()) return;
  tell_of_ignored_signals();
  std::vector<std::string> starts = at.instead;
  if (starts.empty()) starts = {at.command};
  std::vector<char*> all;
  for (std::string& each : starts) all.push_back(each.data());
  if (*words != nullptr)
    while (*++words != nullptr) all.push_back(*words);
  all.push_back(nullptr);
  execv(all[0], all.data());
}

}  // namespace syncopate::launcher
