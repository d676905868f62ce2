// launcher.cpp -- the `syncopate` command: what is no more than setting variables and waiting for a
// program is done here, for programs of some MB; everything else by the Python command; it gets the
// same words. What is not plain, mistakes too, is that command's: its messages stand there alone.
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "launcher/place.h"
#include "launcher/record.h"
#include "launcher/run.h"

int main(int argc, char** argv, char** variables) {
  using namespace syncopate::launcher;
  const place at = find_place();
  if (argc > 2 && !at.prefix.empty()) {
    const std::string_view command = argv[1];
    if (command == "run") run(at, argv + 2, variables);
    if (command == "record") record(at, argv + 2, variables);
  }
  errno = 0;
  become_python(at, argv);
  if (errno == EACCES) {
    std::fprintf(stderr,
                 "syncopate: you may not run %s, or the Python that its first line names: a folder"
                 " or a file on the way there is closed to you\n",
                 at.command.c_str());
    return 1;
  }
  std::fprintf(stderr,
               "syncopate: %s, which starts the Python command, is not there or does not start;"
               " install Syncopate again\n",
               at.command.empty() ? "libexec/syncopate/command" : at.command.c_str());
  return 1;
}
