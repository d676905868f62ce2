#!/bin/sh
# Makes what test_wheel_elsewhere.sh installs and runs: the portable wheel, the Debian package of it,
# and the programs of tests/posix.
# Usage: make_portable.sh SOURCE_DIR FOLDER
set -eu
wheel=$("$1/scripts/package/wheel.sh" "$2")
package=$("$1/scripts/package/portable_deb.sh" "$wheel" "$2")
"$1/tests/install/check_package.sh" "$package" "$(cd "$1" && pwd)"
"$1/tests/install/portable_programs.sh" "$1" "$2/posix"
