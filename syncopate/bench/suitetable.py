"""The suites. A new program is a row of one of these tables; nothing else lists them."""

from syncopate.bench.librarysuites import LIBRARIES
from syncopate.bench.microsuites import MICRO
from syncopate.bench.programsuites import PROGRAMS

SUITES = MICRO | PROGRAMS | LIBRARIES
