"""Breaches of the table of rooms: what test_rooms.py writes, and what is said of each."""

# What is written where, and what has to be said of it, in one line each.
PLANTED = [
    # Includes, by each of the ways in which they are written.
    (
        "include/syncopate/locks/b01.h",
        '#include "../../../src/model/simulated/description/description.h"',
        "room 'algorithms' includes src/model/simulated/description/description.h of room",
    ),
    (
        "include/syncopate/locks/b02.h",
        '#include "model/simulated/description/description.h"',
        "nothing is known of 'model/simulated/description/description.h'",
    ),
    (
        "include/syncopate/machine/b03.h",
        "#include <syncopate/locks/ticket_lock.h>",
        "room 'machine' includes include/syncopate/locks/ticket_lock.h of room 'algorithms'",
    ),
    (
        "include/syncopate/locks/b04.h",
        "#include <syncopate/locks/all.h>",
        "room 'algorithms' includes include/syncopate/locks/all.h of room 'catalogue'",
    ),
    ("include/syncopate/wait/b05.h", "#include <hwloc.h>", "room 'waiting' may not use hwloc"),
    ("src/record/b06.cpp", '#include "model/front/engine.h"', "room 'record' includes src/model/"),
    ("src/record/b07.cpp", "#include <syncopate/locks/gone.h>", "no such file"),
    ("src/record/b08.cpp", "#define H <map>\n#include H", "an include that a macro names: H"),
    ("src/record/b09.cpp", '#  include "gone.h"', "nothing is known of 'gone.h'"),
    (
        "src/native/b10.cpp",
        '#include "../model/simulated/description/description.h"',
        "room 'native' includes src/model/simulated/description/description.h",
    ),
    (
        "src/model/simulated/b11.cpp",
        '#include "model/explored/run/machine.h"',
        "room 'simulated' includes src/model/explored/run/machine.h of room 'explored'",
    ),
    (
        "src/model/front/b12.cpp",
        '#include "../../../products/preload/choice/mutex_object.h"',
        "room 'front' includes products/preload/choice/mutex_object.h of room 'preload_choice'",
    ),
    ("src/tm/core/b13.cpp", '#include "record/recorder.h"', "room 'tm' includes src/record/rec"),
    (
        "src/tm/core/b14.cpp",
        '#include "../../../papers/workloads/common.h"',
        "room 'tm' includes papers/",
    ),
    ("src/tools/b15.cpp", '#include "../../tests/posix/check.h"', "room 'tools' includes tests/"),
    (
        "products/openmp/b16.cpp",
        '#include "preload/choice/mutex_object.h"',
        "room 'openmp' includes products/p",
    ),
    (
        "products/preload/b17.cpp",
        '#include "openmp/teams/team.h"',
        "room 'preload' includes products/openmp/",
    ),
    (
        "products/libitm/b18.S",
        '#include "../../src/record/format.h"',
        "room 'libitm' includes src/re",
    ),
    (
        "papers/workloads/b19.cpp",
        '#include "../../src/tm/core/engine.h"',
        "room 'workloads' includes src/tm/",
    ),
    ("bench/b20.cpp", '#include "../src/record/format.h"', "room 'bench' includes src/record/"),
    ("src/tm/logs/b34.h", '#include "tm/core/engine.h"', "room 'tm_logs' includes src/tm/core/"),
    ("src/tm/core/b35.h", '#include "tm/protocols/redo.h"', "room 'tm' includes src/tm/protocols/"),
    (
        "products/preload/misuse/b40.h",
        '#include "preload/mutex/mutex.h"',
        "room 'preload_misuse' includes products/preload/mutex/mutex.h of room 'preload'",
    ),
    (
        "products/preload/guard/b41.h",
        '#include "preload/elision/elision.h"',
        "room 'preload_guard' includes products/preload/elision/elision.h of room 'preload_el",
    ),
    (
        "products/openmp/teams/b42.h",
        '#include "openmp/abi/kmpc.h"',
        "room 'openmp' includes products/openmp/abi/kmpc.h of room 'openmp_abi'",
    ),
    # What hides an include from who reads lines: comments, strings, continued lines, digraphs.
    (
        "src/record/c01.cpp",
        '// the files src/tm/*.h\n#include "tm/core/engine.h"\n/* end */',
        "c01.cpp:2: room 'record' includes src/tm/core/engine.h of room 'tm'",
    ),
    (
        "src/record/c02.cpp",
        'char a[] = "/*";\n#include "tm/core/engine.h"\nchar b[] = "*/";',
        "c02.cpp:2: room 'record' includes src/tm/core/engine.h",
    ),
    (
        "src/record/c03.cpp",
        'char a[] = R"(/*)";\n#include "tm/core/engine.h"\n// */',
        "c03.cpp:2: room 'record' includes src/tm/core/engine.h",
    ),
    (
        "src/record/c04.cpp",
        '#inc\\\nlude "tm/core/engine.h"',
        "c04.cpp:1: room 'record' includes s",
    ),
    ("src/record/c05.cpp", '%:include "tm/core/engine.h"', "room 'record' includes src/tm/core/en"),
    (
        "src/record/c06.cpp",
        '/* x */ # include /* y */ "tm/core/engine.h"',
        "room 'record' includes",
    ),
    ("src/record/c07.cpp", '#embed "../tm/core/engine.h"', "room 'record' includes src/tm/core/en"),
    (
        "src/record/c08.cpp",
        '#pragma GCC dependency "tm/core/engine.h"',
        "room 'record' includes src/tm/core/engine.h of room 'tm'",
    ),
    (
        "src/record/c09.cpp",
        '#if __has_include("tm/core/engine.h")\n#endif',
        "room 'record' includes src/tm/core/engine.h of room 'tm'",
    ),
    ("src/record/c10.cpp", 'import "tm/core/engine.h";', "an include that a macro names: import"),
    (
        "src/record/c11.cpp",
        r'asm(".incbin \"../tm/core/engine.h\"");',
        "room 'record' includes src/tm/core/engine.h of room 'tm'",
    ),
    (
        "products/libitm/c12.S",
        '.include "../../src/record/format.h"',
        "room 'libitm' includes src/record/format.h of room 'record'",
    ),
    # Kinds of files that nothing looks at.
    ("src/record/c13.hpp", "", "nothing looks at what files of this kind use"),
    ("src/record/c14.cc", "", "nothing looks at what files of this kind use"),
    ("src/record/c15.s", "", "nothing looks at what files of this kind use"),
    ("src/record/c16", "", "nothing looks at what files of this kind use"),
    ("syncopate/records/c17.pyi", "", "nothing looks at what files of this kind use"),
    # Files that stand nowhere, or beside a seam.
    ("src/elsewhere/b21.cpp", "", "src/elsewhere/b21.cpp: this file is in no room"),
    ("src/record/tm_observer.h", "", "tm_observer.h: src/record/tm_observer.h is missing or not"),
    # Python.
    ("syncopate/b22.py", "from tests.cli import make_record", "room 'command' imports tests/cli/"),
    (
        "syncopate/records/b36.py",
        "from syncopate.show import textreport",
        "room 'records' imports syncopate/show/textreport.py of room 'show'",
    ),
    (
        "syncopate/base/b37.py",
        "def f():\n    import syncopate.commands.run",
        "room 'command_base' imports syncopate/commands/run.py of room 'command'",
    ),
    ("syncopate/b23.py", "import make_record", "nothing is known of 'make_record'"),
    ("syncopate/b24.py", "def f():\n    import bench.programs", "room 'command' imports bench/pr"),
    ("syncopate/b25.py", "import pytest", "room 'command' may not use pytest"),
    ("syncopate/b26.py", "import numpy", "nothing is known of 'numpy'"),
    ("syncopate/b27.py", "import importlib\nimportlib.import_module(f())", "import_module loads"),
    ("syncopate/b28.py", "__import__('bench.servers')", "room 'command' imports bench/servers.py"),
    ("syncopate/commands/b29.py", "from . import b30", "imports in a circle: "),
    ("syncopate/commands/b30.py", "import syncopate.commands.b29", None),
    # Python that loads without saying so.
    (
        "syncopate/records/d01.py",
        "import syncopate\nx = syncopate.show.textreport.f()",
        "room 'records' names syncopate/show/textreport.py of room 'show'",
    ),
    (
        "syncopate/records/d02.py",
        "from importlib import import_module as load",
        "import_module under another name loads unseen",
    ),
    (
        "syncopate/records/d03.py",
        "import importlib\ngetattr(importlib, 'import_module')",
        "d03.py:2: import_module loads what no import shows",
    ),
    (
        "syncopate/records/d04.py",
        "import sys\nx = sys.modules['syncopate.show.textreport']",
        "room 'records' names syncopate/show/textreport.py of room 'show'",
    ),
    ("syncopate/records/d05.py", "exec('import bench')", "exec loads what no import shows"),
    (
        "syncopate/records/d06.py",
        "COMMAND = ['python3', '-m', 'syncopate.show.textreport']",
        "room 'records' names syncopate/show/textreport.py of room 'show'",
    ),
    (
        "syncopate/records/d07.py",
        "from importlib.machinery import SourceFileLoader\nx = SourceFileLoader('x', 'y')",
        "SourceFileLoader loads what no import shows",
    ),
    ("syncopate/records/d08.py", "load = __import__", "__import__ loads what no import shows"),
    (
        "syncopate/records/d09.py",
        "import importlib\nimportlib.import_module('..show.textreport', __package__)",
        "import_module loads what no import shows",
    ),
    (
        "syncopate/records/d10.py",
        "import importlib\nimportlib.import_module('syncopate' '.show.textreport')",
        "room 'records' imports syncopate/show/textreport.py of room 'show'",
    ),
    (
        "syncopate/records/d11.py",
        "from ..show import textreport",
        "room 'records' imports syncopate/show/textreport.py of room 'show'",
    ),
    (
        "syncopate/commands/d12.py",
        "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    from . import d13",
        "imports in a circle: ",
    ),
    ("syncopate/commands/d13.py", "from . import d12", None),
    (
        "scripts/d14.sh",
        "python3 - <<END\nimport tests.cli.make_record\nEND",
        "d14.sh:2: room 'scripts' imports tests/cli/make_record.py of room 'tests'",
    ),
    ("scripts/b31.py", "from tests.cli import make_record", "room 'scripts' imports tests/cli/"),
    ("bench/b32.py", "import tests.cli.conftest", "room 'bench' imports tests/cli/conftest.py"),
    ("bench/b33.py", "def f(:", "bench/b33.py:1: cannot be read"),
]
